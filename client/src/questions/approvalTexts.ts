// What the person is asked when the agent wants to run a command, or a file is not to be touched without asking. Pure.

import type { ApproveParams, ApproveResult } from "../protocol";
import { plural } from "../ui/format";
import { withoutLinks, escapeInvisible } from "../ui/text";

export interface Choice {
  readonly title: string;
  readonly option: ApproveResult["option"];
}

export interface Asked {
  /** The command, or the file's path; nothing hides in it. */
  readonly what: string;
  /** Its row in the Plan view. */
  readonly row: string;
  /** What a screen reader says of the row. */
  readonly spoken: string;
  /** The question, where the whole of it fits into a message; else undefined. */
  readonly short: string | undefined;
  /** The question above the details. */
  readonly question: string;
  readonly details: string;
  readonly choices: readonly Choice[];
}

const ALLOW: readonly Choice[] = [
  { title: "Allow Once", option: "allow_once" },
  { title: "Allow for This Session", option: "allow_session" },
  { title: "Reject", option: "reject" },
];
const CONFIRM: readonly Choice[] = [
  { title: "Accept This File", option: "allow_once" },
  { title: "Leave Pending", option: "reject" },
];
/** A message that is longer, or has several lines, is cut by VS Code. */
const SHOWN_WHOLE = 300;

/** `relative` names a file for people. */
export function asked(approval: ApproveParams, relative: (uri: string) => string): Asked {
  return approval.kind === "file"
    ? ofFile(approval, escapeInvisible(relative(approval.uri ?? "")))
    : ofCommand(approval);
}

function ofCommand({ command, cwd, mode, reasons }: ApproveParams): Asked {
  const what = escapeInvisible(command ?? "");
  const place = mode === "sandboxed" ? "in the sandbox" : "in your workspace itself";
  const [first = "", second = ""] = reasons;
  const message = `Run “${what}” ${place}? ${first}`.trim();
  // a message shows a link without its address
  const whole = message.length <= SHOWN_WHOLE && !what.includes("\n") && withoutLinks(what) === what;
  const longer = `${message} ${second}`.trim();
  return {
    what,
    row: `Allow: ${oneLine(what)}`,
    spoken: `The agent asks to run: ${what}`,
    short: whole ? (longer.length <= SHOWN_WHOLE ? longer : message) : undefined,
    question: whole
      ? "The agent asks to run this command."
      : `The agent asks to run a command of ${plural(what.split("\n").length, "line")}. ${first}`.trim(),
    details: [what, `In: ${cwd ?? ""}, ${place}`, ...reasons].join("\n\n"),
    choices: ALLOW,
  };
}

/** Without a tool call it is the person's own accept that a protected file waits for. */
function ofFile({ toolCallId, reasons }: ApproveParams, what: string): Asked {
  const confirm = toolCallId === null;
  const question = confirm ? `Accept “${what}”?` : `Allow “${what}”?`;
  return {
    what,
    row: `${confirm ? "Confirm" : "Allow"}: ${oneLine(what)}`,
    spoken: [question, ...reasons].join(" "),
    short: [question, ...reasons].join(" "),
    question,
    details: reasons.join("\n\n"),
    choices: confirm ? CONFIRM : ALLOW,
  };
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ");
