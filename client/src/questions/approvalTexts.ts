// The texts of an approval: for a command that the agent wants to run, or a file that needs the user's consent. Pure.

import type { ApproveParams, ApproveResult } from "../protocol";
import { plural } from "../ui/format";
import { withoutLinks, escapeInvisible } from "../ui/text";

export interface Choice {
  readonly title: string;
  readonly option: ApproveResult["option"];
}

export interface ApprovalTexts {
  /** The command or the file's path, with invisible characters escaped. */
  readonly subject: string;
  /** The label of the row in the Plan view. */
  readonly rowLabel: string;
  /** The text of the row for screen readers. */
  readonly screenReaderLabel: string;
  /** The whole question, if it fits into a notification. */
  readonly message: string | undefined;
  /** The question in the dialog, above the details. */
  readonly dialogTitle: string;
  readonly details: string;
  readonly choices: readonly Choice[];
}

const ALLOW_CHOICES: readonly Choice[] = [
  { title: "Allow Once", option: "allow_once" },
  { title: "Allow for This Session", option: "allow_session" },
  { title: "Reject", option: "reject" },
];
const CONFIRM_CHOICES: readonly Choice[] = [
  { title: "Accept This File", option: "allow_once" },
  { title: "Leave Pending", option: "reject" },
];
/** VS Code truncates longer notifications, and those with several lines. */
const MAX_MESSAGE_LENGTH = 300;

/** `relative` converts a URI to a path for display. */
export function describeApproval(approval: ApproveParams, relative: (uri: string) => string): ApprovalTexts {
  return approval.kind === "file"
    ? describeFile(approval, escapeInvisible(relative(approval.uri ?? "")))
    : describeCommand(approval);
}

function describeCommand({ command, cwd, mode, reasons }: ApproveParams): ApprovalTexts {
  const what = escapeInvisible(command ?? "");
  const place = mode === "sandboxed" ? "in the sandbox" : "outside the sandbox";
  const [first = "", second = ""] = reasons;
  const message = `Run “${what}” ${place}? ${first}`.trim();
  // a notification shows a link without its address
  const whole = message.length <= MAX_MESSAGE_LENGTH && !what.includes("\n") && withoutLinks(what) === what;
  const longer = `${message} ${second}`.trim();
  return {
    subject: what,
    rowLabel: `Allow: ${oneLine(what)}`,
    screenReaderLabel: `The agent asks to run: ${what}`,
    message: whole ? (longer.length <= MAX_MESSAGE_LENGTH ? longer : message) : undefined,
    dialogTitle: whole
      ? "The agent asks to run this command."
      : `The agent asks to run a command of ${plural(what.split("\n").length, "line")}. ${first}`.trim(),
    details: [what, `In: ${cwd ?? ""}, ${place}`, ...reasons].join("\n\n"),
    choices: ALLOW_CHOICES,
  };
}

/** An approval without a tool call confirms the user's own accept of a protected file. */
function describeFile({ toolCallId, reasons }: ApproveParams, what: string): ApprovalTexts {
  const confirm = toolCallId === null;
  const question = confirm ? `Accept “${what}”?` : `Allow “${what}”?`;
  return {
    subject: what,
    rowLabel: `${confirm ? "Confirm" : "Allow"}: ${oneLine(what)}`,
    screenReaderLabel: [question, ...reasons].join(" "),
    message: [question, ...reasons].join(" "),
    dialogTitle: question,
    details: reasons.join("\n\n"),
    choices: confirm ? CONFIRM_CHOICES : ALLOW_CHOICES,
  };
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ");
