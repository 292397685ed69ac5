// What the person is asked when the agent wants to run a command, or a file is not to be touched without asking. Pure.

import type { ApproveParams, ApproveResult } from "../protocol";
import { plural } from "../ui/format";
import { withoutLinks, escapeInvisible } from "../ui/text";

export interface Choice {
  readonly title: string;
  readonly option: ApproveResult["option"];
}

export interface ApprovalTexts {
  /** The command, or the file's path; nothing hides in it. */
  readonly subject: string;
  /** Its row in the Plan view. */
  readonly rowLabel: string;
  /** What a screen reader says of the row. */
  readonly screenReaderLabel: string;
  /** The question, where the whole of it fits into a message; else undefined. */
  readonly message: string | undefined;
  /** The question above the details. */
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
/** A message that is longer, or has several lines, is cut by VS Code. */
const MAX_MESSAGE_LENGTH = 300;

/** `relative` names a file for people. */
export function describeApproval(approval: ApproveParams, relative: (uri: string) => string): ApprovalTexts {
  return approval.kind === "file"
    ? describeFile(approval, escapeInvisible(relative(approval.uri ?? "")))
    : describeCommand(approval);
}

function describeCommand({ command, cwd, mode, reasons }: ApproveParams): ApprovalTexts {
  const what = escapeInvisible(command ?? "");
  const place = mode === "sandboxed" ? "in the sandbox" : "in your workspace itself";
  const [first = "", second = ""] = reasons;
  const message = `Run “${what}” ${place}? ${first}`.trim();
  // a message shows a link without its address
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

/** Without a tool call it is the person's own accept that a protected file waits for. */
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
