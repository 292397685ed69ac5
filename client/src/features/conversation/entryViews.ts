// Converts the entries of a conversation for the webview, which draws them. Pure.

import { t } from "@vscode/l10n";
import { filesOfCall } from "./changeViews";
import type { EntryView, Place, ShownText, ToolState } from "./messages";
import { stepRow } from "../../ui/stepRow";
import { isWorking } from "../../state/waiting";
import type { EndEntry, Entry, Session, ToolEntry } from "../../state/session";
import { titleText } from "../../state/serverTexts";
import { withVisibleTexts } from "../../ui/shownText";
import { plainLine, plainOutput } from "../../ui/text";
import type { PlanUpdate } from "../../wire/protocolStates";

/** The longest text that is drawn, in characters. The user can open the whole text in an editor. */
const MAX_TEXT = 100_000;
/** The same for the output or the result of a tool call. */
const MAX_OUTPUT = 10_000;
/** In characters. A shorter one-line result of a successful call appears next to the title, except for commands. */
const MAX_NOTE = 100;

/** The tools that return the output of a command. Its end says why the command failed. */
const COMMAND_TOOLS: ReadonlySet<string> = new Set(["bash", "bash_output", "bash_kill"]);

const END_TEXTS: Record<string, string> = {
  cancelled: t("Stopped by you."),
  max_tokens: t("Cut off by the output limit."),
  max_turn_requests: t("Paused before the task was finished."),
  budget: t("Paused: the budget is used up."),
  loop: t("Paused: the model repeated itself or made no progress."),
  refusal: t("The model refused."),
  hook: t("Ended by a hook."),
  error: t("Ended with an error."),
  lost: t("The agent's server stopped; the run was interrupted. What you have not accepted is not in your files."),
};

const SAID_BY_MESSAGE: ReadonlySet<string> = new Set(["error", "budget", "loop", "max_turn_requests"]);

const CONTINUED = { paused: t("You let the agent continue."), plan: t("You approved the plan.") } as const;

/** The marks of completed steps, by the icon that the Plan view shows for the step. */
const MARKS: Record<string, string> = { "pass-filled": "✓", pass: "✓", error: "✗", warning: "⚠" };

/** The plan in the result of `todo`, up to its last line (docs/plan.md P9). */
const RENDERED_PLAN = /^[^]*?\n\(\d+\/\d+ completed\)\s*/;

const STEP_MARKS = { pending: "☐", in_progress: "▸", completed: "☑" } as const;

type Relative = (uri: string) => string;

/** Converts an entry for the webview. `relative` converts a URI to a path for display. */
export function entryView(entry: Entry, session: Session, relative: Relative): EntryView {
  return withVisibleTexts(viewOf(entry, session, relative));
}

function viewOf(entry: Entry, session: Session, relative: Relative): EntryView {
  switch (entry.kind) {
    case "prompt":
      return {
        kind: "prompt",
        body: shown(entry.text),
        note: "",
        pictures: entry.pictures ?? [],
        canRewind: entry.checkpoint !== null,
      };
    case "steered":
      return {
        kind: "prompt",
        body: shown(entry.text),
        note: t("sent during the run"),
        pictures: [],
        canRewind: false,
      };
    case "text":
      return { kind: "answer", body: shown(entry.text) };
    case "thinking":
      return { kind: "thinking", body: shown(entry.text) };
    case "step":
      return stepView(entry, session, relative);
    case "tool":
      return toolView(entry, session);
    case "continued":
    case "retry":
      return { kind: "note", text: wholeText(entry) };
    case "note":
      return { kind: "note", text: entry.text };
    case "context":
      return { kind: "context", title: entry.title, body: shown(entry.text) };
    case "rules":
      return { kind: "rules", files: entry.files.map(({ uri, cut }) => rulesView(uri, cut, relative)) };
    case "end":
      return endView(entry, session.entries.find(({ kind }) => kind === "end") !== entry);
  }
}

/** Returns the complete text of an entry, which the user copies, edits or reads in an editor. */
export function wholeText(entry: Entry): string {
  switch (entry.kind) {
    case "tool":
      return [entry.title, toolBody(entry)].filter(Boolean).join("\n\n");
    case "end":
      return [entry.message, entry.record].filter(Boolean).join("\n\n");
    case "rules":
      return entry.files.map(({ uri }) => uri).join("\n");
    case "step":
      return entry.content;
    case "continued":
      return CONTINUED[entry.what];
    case "retry":
      return entry.attempt === 1 ? entry.reason : t("{0} Attempt {1} failed.", entry.reason, entry.attempt);
    default:
      return entry.text;
  }
}

/** Returns the text of an entry in which the user finds something: the whole text, without what is never shown. */
export function searchedText(entry: Entry): string {
  if (entry.kind !== "end") return wholeText(entry);
  const { title, body, record } = endView(entry, false);
  return [title, body.text, record].join("\n");
}

function stepView(
  { itemId, content }: Extract<Entry, { kind: "step" }>,
  session: Session,
  relative: Relative,
): EntryView {
  const item = session.plan?.items.find(({ id }) => id === itemId);
  if (!item) return { kind: "step", label: content, mark: "", description: t("no longer in the plan") };
  const row = stepRow(item, isWorking(session) ? "working" : "idle", relative, session.edits);
  const mark = item.status === "completed" ? (MARKS[row.icon] ?? "✓") : item.status === "in_progress" ? "◐" : "○";
  return { kind: "step", label: row.label, mark, description: row.description };
}

/** Returns the first line of a command, and any other title as one line. A question may have Markdown. */
function titleOf({ name, title }: ToolEntry): string {
  if (name === "bash") return firstLine(title);
  return name === "ask_user" ? plainLine(title) : title.replace(/\s+/g, " ");
}

function toolView(tool: ToolEntry, session: Session): EntryView {
  const isCommand = tool.name === "bash";
  const failure = isCommand ? tool.failure : openSteps(tool, session);
  const state = stateOf(tool, failure);
  const [place = null] = tool.locations;
  const title = titleOf(tool);
  const body = toolBody(tool);
  // what was read may be a secret that nobody but the model has to see
  const isShort =
    !isCommand &&
    !tool.isSubagent &&
    tool.name !== "read_file" &&
    state === "ok" &&
    body.length < MAX_NOTE &&
    !body.includes("\n");
  const note = tool.refusal ? titleText(tool.refusal) : isShort ? body : failure;
  const isMultiline = isCommand && tool.title.includes("\n");
  const command = shown(isMultiline ? tool.title : "", MAX_OUTPUT);
  const { isSubagent } = tool;
  const showsEnd = COMMAND_TOOLS.has(tool.name) || (isSubagent && state === "running");
  const shownBody = (showsEnd ? shownEnd : shown)(isShort ? "" : body, MAX_OUTPUT);
  const hasChanges = state === "ok" && (tool.isEdit ? place !== null : changesFiles(tool, session));
  return {
    kind: "tool",
    state,
    title,
    isCommand,
    place,
    note,
    command,
    body: shownBody,
    showsEnd,
    hasChanges,
    isSubagent,
  };
}

/** Whether a call that is no edit has changed files, such as a command. */
const changesFiles = (tool: ToolEntry, session: Session): boolean =>
  tool.locations.length === 0 && filesOfCall(session, tool).length > 0;

function stateOf({ refusal, outcome }: ToolEntry, failure: string): ToolState {
  if (refusal) return "refused";
  return failure !== "" || outcome === "error" ? "failed" : outcome;
}

function toolBody(tool: ToolEntry): string {
  const output = (tool.outcome === "running" ? plainOutput(tool.output) : tool.result).trimEnd();
  if (!tool.planUpdate || tool.outcome !== "ok") return output;
  // after a failed check, the result has its command and the end of its output behind the plan
  return tool.planUpdate.open.length === 0 ? planLines(tool.planUpdate) : output.replace(RENDERED_PLAN, "");
}

/** Names the steps that a rewrite of the plan could not complete, and what is wrong with their checks. */
function openSteps({ planUpdate }: ToolEntry, { plan }: Session): string {
  return (planUpdate?.open ?? [])
    .map(({ id, problem }) => {
      const { content = `#${id}`, check = "" } = plan?.items.find((item) => item.id === id) ?? {};
      return t("“{0}” stays open: {1} {2}.", content, check || t("its check"), problem || t("was stopped"));
    })
    .join(" ");
}

function planLines({ steps }: PlanUpdate): string {
  return steps.map(({ status, text }) => `${STEP_MARKS[status]} ${text}`).join("\n");
}

function rulesView(uri: string, isCut: boolean, relative: Relative): { place: Place; label: string } {
  const name = relative(uri);
  const label = isCut ? t("{0} (only its beginning, because it is too long)", name) : name;
  return { place: { uri, line: null }, label };
}

/** `isLater`: whether the session had ended runs before. The record is about all of them. */
function endView({ stopReason, message, record }: EndEntry, isLater: boolean): Extract<EntryView, { kind: "end" }> {
  // The message of a finished run is its last answer, which is already shown above. That of a stopped run repeats the
  // title. That of an error or a pause needs no title.
  const saysMore = Object.hasOwn(END_TEXTS, stopReason) && stopReason !== "cancelled";
  const title = message !== "" && SAID_BY_MESSAGE.has(stopReason) ? "" : (END_TEXTS[stopReason] ?? "");
  const ofSession = isLater && record !== "" ? t("In this session: {0}", record) : record;
  return { kind: "end", title, body: shown(saysMore ? message : ""), record: ofSession };
}

/** Returns the beginning of a text. */
function shown(text: string, limit = MAX_TEXT): ShownText {
  const cut = text.slice(0, limit).replace(/[\ud800-\udbff]$/, "");
  return { text: cut, omitted: text.length - cut.length };
}

/** Returns the end of a text. */
function shownEnd(text: string, limit: number): ShownText {
  const cut = text.slice(-limit).replace(/^[\udc00-\udfff]/, "");
  return { text: cut, omitted: text.length - cut.length };
}

const firstLine = (text: string): string => text.split("\n", 1)[0] ?? "";
