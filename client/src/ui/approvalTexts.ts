// The texts of an approval: for a command that the agent wants to run, or a file that needs the user's consent. Pure.

import { t } from "@vscode/l10n";
import type { ApproveParams } from "../wire/protocol";
import type { Answer } from "../state/waiting";
import { oneOrMany } from "./format";
import { titleText } from "../state/serverTexts";
import { lineText, messageText, visibleText } from "./shownText";

export interface Choice {
  readonly title: string;
  readonly option: Answer;
}

export interface ApprovalTexts {
  /** The command or the file's path, with invisible characters escaped. */
  readonly subject: string;
  /** The label of the row in the Plan view. */
  readonly rowLabel: string;
  /** The text of the row for screen readers. */
  readonly screenReaderLabel: string;
  /** The whole question with its first reasons. Undefined if a notification would not show the whole command. */
  readonly message: string | undefined;
  /** The question in the dialog, above the details. Also in a notification if there is no `message`. */
  readonly dialogTitle: string;
  readonly details: string;
  readonly reasons: readonly string[];
  readonly choices: readonly Choice[];
}

const ALLOW: readonly Choice[] = [
  { title: t("Allow Once"), option: "allow_once" },
  { title: t("Allow for This Session"), option: "allow_session" },
];
const ALWAYS: Choice = { title: t("Always Allow..."), option: "allow_always" };
const REJECT: readonly Choice[] = [
  { title: t("Reject"), option: "reject" },
  { title: t("Reject Because..."), option: "reject_because" },
];
const CONFIRM_CHOICES: readonly Choice[] = [
  { title: t("Accept This File"), option: "allow_once" },
  { title: t("Leave Pending"), option: "reject" },
];
/**
 * The maximum length of `message` for a command, in characters. VS Code truncates longer notifications, and those with
 * several lines.
 */
const MAX_MESSAGE_LENGTH = 300;

/** Returns the texts of an approval. `relative` converts a URI to a path for display. */
export function describeApproval(approval: ApproveParams, relative: (uri: string) => string): ApprovalTexts {
  return approval.kind === "file"
    ? describeFile(approval, visibleText(relative(approval.uri ?? "")))
    : describeCommand(approval);
}

function describeCommand({ command, cwd, mode, reasonTexts, rules }: ApproveParams): ApprovalTexts {
  const reasons = reasonTexts.map(titleText);
  const what = visibleText(command ?? "");
  const folder = visibleText(cwd ?? "");
  const isSandboxed = mode === "sandboxed";
  const [first = "", second = ""] = reasons;
  const question = isSandboxed ? t("Run “{0}” in the sandbox?", what) : t("Run “{0}” outside the sandbox?", what);
  const message = `${question} ${first}`.trim();
  // a notification would truncate a long command, and show a link in it without the address
  const isShownWhole = message.length <= MAX_MESSAGE_LENGTH && !what.includes("\n") && messageText(what) === what;
  const longer = `${message} ${second}`.trim();
  return {
    subject: what,
    rowLabel: t("Allow: {0}", lineText(what)),
    screenReaderLabel: t("The agent asks to run: {0}", what),
    message: isShownWhole ? (longer.length <= MAX_MESSAGE_LENGTH ? longer : message) : undefined,
    dialogTitle: isShownWhole
      ? t("The agent asks to run this command.")
      : `${longCommand(what.split("\n").length)} ${first}`.trim(),
    details: [
      what,
      isSandboxed ? t("In: {0}, in the sandbox", folder) : t("In: {0}, outside the sandbox", folder),
      ...reasons,
    ].join("\n\n"),
    reasons,
    choices: [...ALLOW, ...(rules.length > 0 ? [ALWAYS] : []), ...REJECT],
  };
}

/**
 * Returns the texts of an approval of a file. Without a tool call, the approval confirms the user's own accept of a
 * protected file.
 */
function describeFile({ toolCallId, reasonTexts }: ApproveParams, what: string): ApprovalTexts {
  const reasons = reasonTexts.map(titleText);
  const isConfirmation = toolCallId === null;
  const question = isConfirmation ? t("Accept “{0}”?", what) : t("Allow “{0}”?", what);
  return {
    subject: what,
    rowLabel: isConfirmation ? t("Confirm: {0}", lineText(what)) : t("Allow: {0}", lineText(what)),
    screenReaderLabel: [question, ...reasons].join(" "),
    message: [question, ...reasons].join(" "),
    dialogTitle: question,
    details: reasons.join("\n\n"),
    reasons,
    choices: isConfirmation ? CONFIRM_CHOICES : [...ALLOW, ...REJECT],
  };
}

const longCommand = (lines: number): string =>
  oneOrMany(
    lines,
    t("The agent asks to run a long one-line command."),
    t("The agent asks to run a {0}-line command.", lines),
  );
