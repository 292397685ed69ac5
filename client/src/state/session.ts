// The last known state of one session, and how the server's events change it. Pure.

import { t } from "@vscode/l10n";
import type {
  AgentEvent,
  ApproveParams,
  AskParams,
  CommandEnded,
  CommandStarted,
  Mode,
  Continuation,
  OpenedSession,
  RunError,
  RunResult,
  UsageEvent,
} from "../wire/protocol";
import type { Edits, Plan, PlanUpdate, SessionRow, Title } from "../wire/protocolStates";
import { recordText, titleText, translated, withTranslations } from "./serverTexts";

/** One entry of the conversation. A changed entry is a new object, so that views see what has changed. */
export type Entry = Readonly<
  /**
   * `checkpoint` is the number of the state before the prompt, to which the session can be rewound. Null until the run
   * has begun, and for an entry without such a state, such as a continuation.
   */
  | { kind: "prompt"; text: string; checkpoint: number | null; pictures?: readonly string[] }
  | { kind: "steered"; text: string }
  | { kind: "text"; text: string }
  | { kind: "thinking"; text: string }
  | {
      kind: "tool";
      id: string;
      name: string;
      /** Whether it is a call that proposes changes to a file. */
      isEdit: boolean;
      /** Whether a subagent does it. */
      isSubagent: boolean;
      title: string;
      locations: readonly { uri: string; line: number | null }[];
      /** The output of its command so far, or the progress that it has reported; see `OUTPUT_LIMIT`. */
      output: string;
      /** Whether it has started a command, which has a row of its own in the plan. */
      hasCommand: boolean;
      outcome: "running" | "ok" | "error";
      result: string;
      planUpdate: PlanUpdate | null;
      /**
       * Why its command failed, such as `exit code 1`; empty if it succeeded, was stopped on purpose or has not ended.
       */
      failure: string;
      /** Why it was refused, for the user; null if it was not. */
      refusal: Title | null;
    }
  /** A run continued an earlier one, or started the work on an approved plan. */
  | { kind: "continued"; what: Continuation }
  /** A plan item began. */
  | { kind: "step"; itemId: string; content: string }
  | { kind: "note"; text: string }
  /** Requests to the model failed, one after the other; the last one is sent again after the delay. */
  | { kind: "retry"; reason: string; attempt: number }
  | { kind: "context"; title: string; text: string }
  | { kind: "rules"; files: readonly { uri: string; cut: boolean }[] }
  /**
   * `error` is the error with which the server ended the run; null if there was none, or if the request itself failed.
   */
  | { kind: "end"; stopReason: string; message: string; record: string; error: RunError | null }
>;

export type PromptEntry = Extract<Entry, { kind: "prompt" }>;
export type EndEntry = Extract<Entry, { kind: "end" }>;
export type ToolEntry = Extract<Entry, { kind: "tool" }>;
/** How a run ended. */
export type RunEnd = Pick<RunResult, "stopReason" | "message" | "record"> &
  Partial<Pick<RunResult, "error" | "recordTexts">>;

/** The entries with which a run begins. */
const BEGINNINGS: ReadonlySet<Entry["kind"]> = new Set(["prompt", "continued"]);

/** In milliseconds: a longer wait makes the user look for the cause. */
const LONG_WAIT = 3000;

/** Why and until when a run waits to send a request again. */
export interface Wait {
  readonly at: number;
  /** Whether the wait, with those before it, is so long that the user may want to do something about the cause. */
  readonly isLong: boolean;
  readonly error: RunError;
}

export interface Session {
  readonly id: string;
  /** The first line of the first prompt; empty before there is one. */
  title: string;
  /** The model of the last run, or `replay (FILE)` for a recording; empty before the first run in this window. */
  model: string;
  /** The file name of the recording that replaces the model; empty if there is none, or no run has started. */
  recording: string;
  /**
   * Whether a run that this window started is going on. False as soon as the user stops it, even if the server is still
   * ending it.
   */
  running: boolean;
  /** Whether this is a placeholder, which shows the user's task until the server has created the session. */
  readonly isStarting: boolean;
  /** The session's row in the server's list; undefined if it has none, for example because the server ended. */
  row: SessionRow | undefined;
  plan: Plan | undefined;
  edits: Edits | undefined;
  /** Why the last attempt to accept a file failed, by the file's URI. */
  readonly refusals: Map<string, string>;
  /** The usage of the last run so far. */
  usage: UsageEvent | undefined;
  /** When the run of this window began, in milliseconds since the epoch; undefined if none is going on. */
  startedAt: number | undefined;
  /** The failed request that will be sent again: when, in milliseconds since the epoch, and why it failed. */
  retry: Wait | undefined;
  entries: Entry[];
  approvals: ApproveParams[];
  questions: AskParams[];
  /** The commands that are running, including background commands and the user's checks. */
  commands: CommandStarted[];
  /**
   * Why the last run of this window paused; undefined if it did not pause, a later run has started, or the session was
   * rewound. Does not cover a run of an earlier window: see `pauseReason`.
   */
  pause: { readonly reason: string } | undefined;
  /** The mode of the last run; null if only the server knows it, as before the transcript arrives and after a rewind. */
  mode: Mode | null;
  /**
   * The hosted agent that does the next task; empty: Fairlead's own. Undefined if only the server knows it, as before the
   * transcript arrives.
   */
  hosted: string | undefined;
  /** The number of runs of this session that this window started. */
  runsStarted: number;
  /** The number of these runs that have ended, including those that were interrupted because the server ended. */
  runsEnded: number;
  /**
   * The end entries of runs that the user stopped, by the run's number from 1. The server may still be ending these
   * runs.
   */
  stoppedRuns: Map<number, EndEntry>;
}

/**
 * What has changed. `list`: the session's row in the server's list. `sessions`: which sessions exist, or which one is
 * active. `approvals`: the open approvals and questions. `run`: whether the session runs, and what its run uses and
 * does (model, commands, retry, usage). `conversation`: only the entries.
 */
export type Change = "plan" | "edits" | "conversation" | "run" | "approvals" | "sessions" | "list";

/** What events change, by kind. Other kinds change only the conversation, unless they end the wait for a retry. */
const CHANGES: Partial<Record<AgentEvent["kind"], Change>> = {
  run_started: "run",
  command: "run",
  command_ended: "run",
  retry: "run",
  usage: "run",
};

/** Events that are shown even after the user stopped the run: what ended, and what it cost. */
const FINAL_EVENTS: readonly AgentEvent["kind"][] = ["command_ended", "tool_finished", "usage", "run_finished"];

/** How a run ended. The user can continue it, unless it is `done`. Only a `paused` run waits for the user to do so. */
export type Ending = "done" | "paused" | "stopped" | "unfinished" | "failed";

/**
 * The endings by stop reason (docs/protocol.md, `RunResult`), without those that are `done`. Only the client uses
 * `lost`: the server has ended.
 */
const ENDINGS: Readonly<Record<string, Ending>> = {
  budget: "paused",
  max_turn_requests: "paused",
  loop: "paused",
  cancelled: "stopped",
  max_tokens: "unfinished",
  lost: "unfinished",
  error: "failed",
};

/** An entry stores at most this many characters of a command's output, the last ones, to limit memory. */
const OUTPUT_LIMIT = 20_000;

export function newSession(id: string, isStarting = false): Session {
  return {
    id,
    title: "",
    model: "",
    recording: "",
    running: false,
    isStarting,
    row: undefined,
    plan: undefined,
    edits: undefined,
    refusals: new Map(),
    usage: undefined,
    startedAt: undefined,
    retry: undefined,
    pause: undefined,
    entries: [],
    approvals: [],
    questions: [],
    commands: [],
    mode: null,
    hosted: undefined,
    runsStarted: 0,
    runsEnded: 0,
    stoppedRuns: new Map(),
  };
}

/**
 * Marks the current run as ended, and adds its end to the conversation. Also removes the run's approvals and all
 * questions. Returns the added entry.
 */
export function closeRun(session: Session, result: RunEnd): EndEntry {
  const end = endEntry(result);
  // the end says why the last request failed
  if (result.error && session.entries.at(-1)?.kind === "retry") session.entries.pop();
  session.running = false;
  session.startedAt = undefined;
  session.retry = undefined;
  session.pause = endingOf(result) === "paused" ? { reason: result.message } : undefined;
  // the approval of a protected file confirms the user's own accept, and does not belong to the run
  session.approvals = session.approvals.filter(({ toolCallId }) => toolCallId === null);
  session.questions = [];
  session.entries.push(end);
  return end;
}

export const endingOf = ({ stopReason }: Pick<RunEnd, "stopReason">): Ending => ENDINGS[stopReason] ?? "done";

export function endEntry(end: RunEnd): EndEntry {
  const { stopReason, message, error } = end;
  return { kind: "end", stopReason, message, record: recordText(end), error: error ?? null };
}

/** What the conversation shows for feedback, by what it is about (docs/protocol.md). */
const FEEDBACK_NOTES: Readonly<Record<string, string>> = {
  message: t("Message delivered."),
  review: t("The agent was told about your decisions."),
  plan: t("The agent was told about your changes to the plan."),
  files: t("The agent was told which files have changed."),
  new_errors: t("The agent was told about new errors in its proposals."),
  folders: t("The agent was told which folders are open."),
  hook: t("The agent was told what a hook says."),
};

/**
 * Applies an event, and returns what it may have changed; undefined if it is ignored. Events of a search for the
 * smallest set are ignored. While the server is still ending a run that the user stopped, all other events are ignored
 * too, except final events and those of the user's checks.
 */
export function applyEvent(session: Session, event: AgentEvent): Change | undefined {
  if (event.kind === "check_search" || event.kind === "smallest_set") return undefined;
  const isCheck = "toolCallId" in event && event.runId === null;
  if (isStopping(session) && !FINAL_EVENTS.includes(event.kind) && !isCheck) return undefined;
  const retry = session.retry;
  if (!isCheck) session.retry = undefined;
  switch (event.kind) {
    case "run_started":
      session.model = event.model;
      session.recording = event.recording ?? "";
      if (event.checkpoint !== null) changePrompt(session, { checkpoint: event.checkpoint });
      break;
    case "text":
    case "thinking":
      addStreamed(session, event.kind, event.text);
      break;
    case "tool_started": {
      const { toolCallId: id, name, locations, toolKind } = event;
      const title = titleText(event.titleText);
      const isEdit = toolKind === "edit" || toolKind === "delete" || toolKind === "move";
      const isSubagent = toolKind === "agent";
      session.entries.push({ ...toolEntry(name, title, "running"), id, isEdit, isSubagent, locations });
      break;
    }
    case "step_began":
      session.entries.push({ kind: "step", itemId: event.itemId, content: event.content });
      break;
    case "command":
      session.commands.push(event);
      changeTool(session, event.toolCallId, () => ({ hasCommand: true }));
      break;
    case "command_ended": {
      session.commands = session.commands.filter(({ toolCallId }) => toolCallId !== event.toolCallId);
      changeTool(session, event.toolCallId, () => ({ failure: failureText(event) }));
      break;
    }
    case "tool_output":
      changeTool(session, event.toolCallId, ({ output }) => ({
        output: (output + event.text).slice(-OUTPUT_LIMIT),
      }));
      break;
    case "tool_finished":
      changeTool(session, event.toolCallId, () => ({
        outcome: event.isError ? "error" : "ok",
        result: event.text,
        planUpdate: event.planUpdate,
        refusal: event.shown,
      }));
      break;
    case "reminder":
      addReminder(session, event.text);
      break;
    case "steered":
      session.entries.push({ kind: "steered", text: event.text });
      break;
    case "context":
      session.entries.push({ kind: "context", title: event.title, text: event.text });
      if (event.pictures.length > 0) changePrompt(session, { pictures: event.pictures });
      break;
    case "rules":
      session.entries.push({ kind: "rules", files: event.files });
      break;
    case "feedback": {
      if (event.about === "rules") break; // shown as the event "rules"
      const text = FEEDBACK_NOTES[event.about] ?? t("The agent was told about your changes.");
      session.entries.push({ kind: "note", text });
      break;
    }
    case "retry": {
      const { attempt, delayMs } = event;
      const error = translated(event.error);
      if (session.entries.at(-1)?.kind === "retry") session.entries.pop();
      session.entries.push({ kind: "retry", reason: error.message, attempt });
      session.retry = { at: Date.now() + delayMs, isLong: attempt > 2 || delayMs > LONG_WAIT, error };
      break;
    }
    case "usage":
      session.usage = event;
      break;
    case "compacted":
      session.entries.push({ kind: "note", text: event.text });
      break;
    case "round_started":
    case "check_finished":
    case "run_finished":
      break;
  }
  return CHANGES[event.kind] ?? (retry === session.retry ? "conversation" : "run");
}

/** Why a command failed, in a few words; empty if it succeeded or was stopped on purpose. */
function failureText({ ended, exitCode }: CommandEnded): string {
  if (ended === "timeout") return t("timed out");
  if (ended === "failed") return t("failed");
  return ended === "exited" && exitCode !== 0 ? t("exit code {0}", exitCode ?? "") : "";
}

/**
 * Returns the entries of a transcript and the usage of its last run. A run without an end was interrupted, unless it is
 * going on.
 */
export function replayed({ sessionId, phase, transcript }: OpenedSession): Pick<Session, "entries" | "usage"> {
  const session = newSession(sessionId);
  for (const item of transcript) {
    if (item.kind === "prompt" || item.kind === "continued") {
      closeInterrupted(session);
      session.entries.push(
        item.kind === "prompt"
          ? { kind: "prompt", text: item.text, checkpoint: item.checkpoint }
          : { kind: "continued", what: item.what },
      );
      session.usage = undefined;
      session.running = true;
    } else if (item.kind === "run_ended") closeRun(session, withTranslations(item));
    else applyEvent(session, item);
  }
  if (phase !== "running") closeInterrupted(session);
  return session;
}

/** Marks the current run as interrupted, because its server ended. Does nothing if there is none. */
export function closeInterrupted(session: Session): void {
  if (!session.running) return;
  session.entries = session.entries.map((entry) =>
    entry.kind === "tool" && entry.outcome === "running" ? { ...entry, outcome: "error" } : entry,
  );
  closeRun(session, { stopReason: "lost", message: "", record: "" });
}

/** Whether the session can be rewound to before this entry. */
export const isRewindable = (entry: Entry): entry is PromptEntry =>
  entry.kind === "prompt" && entry.checkpoint !== null;

/**
 * Removes a prompt and all entries after it, because the session was rewound to before the prompt. Also forgets the
 * pause, the usage and the mode.
 */
export function rewindEntries(session: Session, checkpoint: number): void {
  const index = session.entries.findIndex((entry) => entry.kind === "prompt" && entry.checkpoint === checkpoint);
  // a new array, so that views draw the entries again
  if (index >= 0) session.entries = session.entries.slice(0, index);
  session.pause = session.usage = undefined;
  session.mode = null;
}

/** Changes the last prompt, with which the current run began. */
function changePrompt(session: Session, change: Partial<PromptEntry>): void {
  const index = session.entries.findLastIndex(({ kind }) => kind === "prompt");
  const prompt = session.entries[index];
  if (prompt?.kind === "prompt") session.entries[index] = { ...prompt, ...change };
}

/** Whether the server is still ending a run that the user stopped. Events of that run can still arrive. */
function isStopping({ stoppedRuns, runsEnded }: Session): boolean {
  return [...stoppedRuns.keys()].some((run) => run > runsEnded);
}

/**
 * Adds what the model writes. It goes before the messages at the end, which the model has not read yet (an event
 * `feedback` follows those that it has read), so that they do not cut an answer in two.
 */
function addStreamed({ entries }: Session, kind: "text" | "thinking", text: string): void {
  const index = entries.findLastIndex((entry) => entry.kind !== "steered");
  const last = entries[index];
  if (last?.kind === kind) entries[index] = { kind, text: last.text + text };
  else entries.splice(index + 1, 0, { kind, text });
}

/** Shows a reminder of the plan for the model. A run has one entry for all of them, with the last text. */
function addReminder(session: Session, text: string): void {
  const title = t("reminder of the plan");
  const isOne = (entry: Entry): boolean => entry.kind === "context" && entry.title === title;
  const index = session.entries.findLastIndex((entry) => BEGINNINGS.has(entry.kind) || isOne(entry));
  const known = session.entries[index];
  if (known && isOne(known)) session.entries[index] = { kind: "context", title, text };
  else session.entries.push({ kind: "context", title, text });
}

function toolEntry(name: string, title: string, outcome: ToolEntry["outcome"]): ToolEntry {
  const nothing = { output: "", hasCommand: false, result: "", planUpdate: null, failure: "", refusal: null };
  return { kind: "tool", id: "", name, isEdit: false, isSubagent: false, title, locations: [], outcome, ...nothing };
}

/** Replaces the last entry of a tool call with one that has these changes. Does nothing if there is none. */
function changeTool(session: Session, id: string, change: (tool: ToolEntry) => Partial<ToolEntry>): void {
  const index = session.entries.findLastIndex((entry) => entry.kind === "tool" && entry.id === id);
  const tool = session.entries[index];
  if (tool?.kind === "tool") session.entries[index] = { ...tool, ...change(tool) };
}
