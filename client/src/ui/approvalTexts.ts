// The texts of an approval: for a command that the agent wants to run, a file that needs the user's consent, what a tool
// server is to do, or a page of the web. Pure.

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
  /** The command, the call or the file's path, with invisible characters escaped. */
  readonly subject: string;
  /** Where it runs; empty if nothing starts. */
  readonly place: string;
  /** The label of the row in the Plan view. */
  readonly rowLabel: string;
  /** The text of the row for screen readers. */
  readonly screenReaderLabel: string;
  /** Whether the row may have buttons. Without, the user allows it where all of it is shown. */
  readonly isBrief: boolean;
  /** The question in the conversation, above the subject. */
  readonly cardTitle: string;
  /** The whole question with its first reasons. Undefined if a notification would not show the whole subject. */
  readonly message: string | undefined;
  /** The button of a notification without `message`. */
  readonly showTitle: string;
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
/** The server may start again, or the tools be used, until they change. */
const LASTING: readonly Choice[] = [
  { title: t("Allow"), option: "allow_once" },
  { title: t("Reject"), option: "reject" },
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
/** The maximum length of a URL that a row shows, in characters. */
const MAX_ROW_URL = 100;

/** Returns the texts of an approval. `relative` converts a URI to a path for display. */
export function describeApproval(approval: ApproveParams, relative: (uri: string) => string): ApprovalTexts {
  switch (approval.kind) {
    case "file":
      return describeFile(approval, visibleText(relative(approval.uri ?? "")));
    case "tool":
      return describeCall(approval);
    case "toolServer":
      return describeServer(approval, SERVER_QUESTIONS[approval.mode === null ? "connect" : "start"]);
    case "installServer":
      return describeServer(approval, SERVER_QUESTIONS.install);
    case "agent":
      return describeServer(approval, SERVER_QUESTIONS.startAgent);
    case "installAgent":
      return describeServer(approval, SERVER_QUESTIONS.installAgent);
    case "changedTools":
      return describeChangedTools(approval);
    case "web":
      return describePage(approval);
    case "hook":
      return describeHook(approval);
    case "call":
      return describeConfirmedCall(approval);
    default:
      return describeCommand(approval);
  }
}

/** A short text for one line, if a notification would show it whole and without a link; else undefined. */
const briefly = (text: string): string | undefined =>
  text.length <= MAX_MESSAGE_LENGTH && !text.includes("\n") && messageText(text) === text ? text : undefined;

function placeOf({ mode, cwd }: ApproveParams): string {
  if (mode === null) return "";
  const folder = visibleText(cwd ?? "");
  return mode === "sandboxed" ? t("In {0}, in the sandbox.", folder) : t("In {0}, outside the sandbox.", folder);
}

/** A call of a tool server. Its `command` is the tool and a line for each argument, or several for a long text. */
function describeCall({ command, server, tool, reasonTexts, rules }: ApproveParams): ApprovalTexts {
  const reasons = reasonTexts.map(titleText);
  const [, ...lines] = visibleText(command ?? "").split("\n");
  const given = lines.join("\n");
  const names = [lineText(tool ?? ""), lineText(server ?? "")];
  const question = t("Call {0} of {1}?", ...names);
  const whole = given === "" ? question : t("Call {0} of {1} with “{2}”?", ...names, lines.join(" · "));
  // the lines of a long text are indented
  const isOneLine = lines.every((line) => line.trim() === line && line !== "");
  return {
    subject: given,
    place: "",
    rowLabel: question,
    screenReaderLabel: [question, given].filter(Boolean).join(" "),
    isBrief: given === "",
    cardTitle: question,
    message: isOneLine ? briefly([whole, ...reasons.slice(0, 1)].join(" ")) : undefined,
    showTitle: t("Show Arguments"),
    dialogTitle: question,
    details: [given, ...reasons].filter(Boolean).join("\n\n"),
    reasons,
    choices: [...ALLOW, ...(rules.length > 0 ? [ALWAYS] : []), ...REJECT],
  };
}

/** What is asked about a tool server: the question with its name, with what runs, and above what runs. */
const SERVER_QUESTIONS = {
  start: {
    named: (name: string) => t("Start the tool server {0}?", name),
    whole: (name: string, what: string) => t("Start the tool server {0}: “{1}”?", name, what),
    above: t("Start this tool server?"),
  },
  connect: {
    named: (name: string) => t("Connect to the tool server {0}?", name),
    whole: (name: string, what: string) => t("Connect to the tool server {0}: “{1}”?", name, what),
    above: t("Connect to this tool server?"),
  },
  install: {
    named: (name: string) => t("Install the tool server {0}?", name),
    whole: (name: string, what: string) => t("Install the tool server {0} with “{1}”?", name, what),
    above: t("Install this tool server?"),
  },
  startAgent: {
    named: (name: string) => t("Start {0}?", name),
    whole: (name: string, what: string) => t("Start {0}: “{1}”?", name, what),
    above: t("Start this agent?"),
  },
  installAgent: {
    named: (name: string) => t("Install {0}?", name),
    whole: (name: string, what: string) => t("Install {0} with “{1}”?", name, what),
    above: t("Install this agent?"),
  },
};

/** A tool server or an agent that is to start or to be installed. Its `command` is the whole command line, or the address. */
function describeServer(approval: ApproveParams, questions: (typeof SERVER_QUESTIONS)["start"]): ApprovalTexts {
  const reasons = approval.reasonTexts.map(titleText);
  const what = visibleText(approval.command ?? "");
  const place = placeOf(approval);
  const name = lineText(approval.server ?? "");
  // all reasons, because they name the variables, hosts and folders that the server gets
  const message = briefly([questions.whole(name, what), place, ...reasons].filter(Boolean).join(" "));
  return {
    subject: what,
    place,
    rowLabel: questions.named(name),
    screenReaderLabel: questions.whole(name, what),
    isBrief: false,
    cardTitle: questions.above,
    message,
    showTitle: approval.mode === null ? t("Show Address") : t("Show Full Command"),
    dialogTitle: message === undefined ? questions.named(name) : questions.above,
    details: [what, place, ...reasons].filter(Boolean).join("\n\n"),
    reasons,
    choices: LASTING,
  };
}

/** Tools that have changed. The `command` is the difference, in many lines. */
function describeChangedTools({ command, server, reasonTexts }: ApproveParams): ApprovalTexts {
  const reasons = reasonTexts.map(titleText);
  const what = visibleText(command ?? "");
  const question = t("Use the changed tools of {0}?", lineText(server ?? ""));
  return {
    subject: what,
    place: "",
    rowLabel: question,
    screenReaderLabel: [question, ...reasons].join(" "),
    isBrief: false,
    cardTitle: question,
    message: undefined,
    showTitle: t("Show Changes"),
    dialogTitle: question,
    details: [...reasons, what].join("\n\n"),
    reasons,
    choices: LASTING,
  };
}

/** A page of the web. Its `command` is the URL, its `server` the host. */
function describePage({ command, server, reasonTexts, rules }: ApproveParams): ApprovalTexts {
  const reasons = reasonTexts.map(titleText);
  const [url, host] = [lineText(command ?? ""), lineText(server ?? "")];
  const question = t("Fetch a page from {0}?", host);
  const whole = t("Fetch “{0}” from {1}?", url, host);
  const isShort = url.length <= MAX_ROW_URL;
  return {
    subject: url,
    place: "",
    rowLabel: isShort ? t("Allow: {0}", url) : question,
    screenReaderLabel: whole,
    isBrief: isShort,
    cardTitle: question,
    message: briefly([whole, ...reasons].join(" ")),
    showTitle: t("Show Full Address"),
    dialogTitle: question,
    details: [url, ...reasons].join("\n\n"),
    reasons,
    choices: [...ALLOW, ...(rules.length > 0 ? [ALWAYS] : []), ...REJECT],
  };
}

/** A hook that is to run, now and later. Its `command` is the whole command line. */
function describeHook(approval: ApproveParams): ApprovalTexts {
  const reasons = approval.reasonTexts.map(titleText);
  const what = visibleText(approval.command ?? "");
  const place = placeOf(approval);
  const question = t("Allow this hook, now and later?");
  return {
    subject: what,
    place,
    rowLabel: t("Allow the hook: {0}", lineText(what)),
    screenReaderLabel: [question, what, ...reasons].join(" "),
    isBrief: false,
    cardTitle: question,
    // all reasons, because they say where the hook comes from and when it runs
    message: briefly([t("Allow the hook “{0}”, now and later?", what), place, ...reasons].filter(Boolean).join(" ")),
    showTitle: t("Show Full Command"),
    dialogTitle: question,
    details: [what, place, ...reasons].filter(Boolean).join("\n\n"),
    reasons,
    choices: LASTING,
  };
}

/** A call that a hook wants the user to look at. Its `command` is the tool and a line for each field of the input. */
function describeConfirmedCall({ command, reasonTexts }: ApproveParams): ApprovalTexts {
  const reasons = reasonTexts.map(titleText);
  const what = visibleText(command ?? "");
  const question = t("Make this call?");
  return {
    subject: what,
    place: "",
    rowLabel: t("Allow: {0}", lineText(what)),
    screenReaderLabel: [question, what, ...reasons].join(" "),
    isBrief: false,
    cardTitle: question,
    message: undefined,
    showTitle: t("Show Call"),
    dialogTitle: question,
    details: [what, ...reasons].join("\n\n"),
    reasons,
    choices: [...ALLOW, ...REJECT],
  };
}

function describeCommand(approval: ApproveParams): ApprovalTexts {
  const { command, mode, reasonTexts, rules } = approval;
  const reasons = reasonTexts.map(titleText);
  const what = visibleText(command ?? "");
  const place = placeOf(approval);
  const isSandboxed = mode === "sandboxed";
  const [first = "", second = ""] = reasons;
  const question = isSandboxed ? t("Run “{0}” in the sandbox?", what) : t("Run “{0}” outside the sandbox?", what);
  const message = `${question} ${first}`.trim();
  // a notification would truncate a long command, and show a link in it without the address
  const isShownWhole = message.length <= MAX_MESSAGE_LENGTH && !what.includes("\n") && messageText(what) === what;
  const longer = `${message} ${second}`.trim();
  return {
    subject: what,
    place,
    rowLabel: t("Allow: {0}", lineText(what)),
    screenReaderLabel: t("The agent asks to run: {0}", what),
    isBrief: true,
    cardTitle: t("The agent asks to run this command."),
    showTitle: t("Show Full Command"),
    message: isShownWhole ? (longer.length <= MAX_MESSAGE_LENGTH ? longer : message) : undefined,
    dialogTitle: isShownWhole
      ? t("The agent asks to run this command.")
      : `${longCommand(what.split("\n").length)} ${first}`.trim(),
    details: [what, place, ...reasons].join("\n\n"),
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
    place: "",
    isBrief: true,
    cardTitle: question,
    showTitle: "",
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
