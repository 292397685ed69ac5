// The methods of docs/protocol.md, and the shapes of its params, results and events. Mirrors
// server/fairlead/lsp/protocol.py. The tests of both read the messages in tests/goldens/.

import type { ApplyWorkspaceEditParams } from "vscode-languageclient/node";
import type {
  ItemStatus,
  Plan,
  Edits,
  SmallestSet,
  CheckResult,
  SessionRow,
  ChangeId,
  Diagnostic,
  Range,
} from "./protocolStates";

export const method = {
  createSession: "agent/sessions/create",
  listSessions: "agent/sessions/list",
  openSession: "agent/sessions/open",
  rewindSession: "agent/sessions/rewind",
  deleteSession: "agent/sessions/delete",
  formerFolders: "agent/sessions/former",
  adoptSessions: "agent/sessions/adopt",
  steer: "agent/steer",
  stopCommand: "agent/command/stop",
  runTask: "agent/runTask",
  cancel: "agent/cancel",
  accept: "agent/edits/accept",
  reject: "agent/edits/reject",
  amend: "agent/edits/amend",
  minimizeChecks: "agent/checks/minimize",
  undo: "agent/edits/undo",
  redo: "agent/edits/redo",
  credentials: "agent/credentials",
  warm: "agent/warm",
  testModel: "agent/model/test",
  trust: "agent/trust",
  plan: "agent/plan",
  edits: "agent/edits",
  planChanged: "agent/plan/changed",
  editsChanged: "agent/edits/changed",
  event: "agent/event",
  sessions: "agent/sessions",
  approve: "agent/approve",
  content: "workspace/textDocumentContent",
  runChecks: "agent/checks/run",
  suggestChecks: "agent/checks/suggest",
  planEdit: "agent/plan/edit",
  planHistory: "agent/plan/history",
  commandRules: "agent/command/rules",
  record: "agent/record",
  ask: "agent/ask",
  claims: "agent/editor/claims",
  diagnostics: "agent/editor/diagnostics",
  definition: "agent/editor/definition",
  references: "agent/editor/references",
  implementation: "agent/editor/implementation",
  hover: "agent/editor/hover",
  documentSymbols: "agent/editor/documentSymbols",
  workspaceSymbols: "agent/editor/workspaceSymbols",
  rename: "agent/editor/rename",
  codeActions: "agent/editor/codeActions",
} as const;

/**
 * The server's own commands in its CodeLenses. The other commands there are this extension's: `fairlead.showChange` and
 * `fairlead.previewChange`.
 */
export const serverCommand = { accept: "fairlead.server.accept", reject: "fairlead.server.reject" } as const;

/** The URI schemes of this client: the two sides of a diff, and pages such as the plan's history. */
export const scheme = {
  base: "fairlead-base",
  proposed: "fairlead-proposed",
  page: "fairlead-page",
} as const;

/**
 * One change of the plan by the user. `after` is the id of the item that the added or moved item follows; null means
 * the first position. Without `after`, an added item becomes the last one. An empty `check` removes the check.
 */
export type PlanOp =
  | { op: "add"; content: string; after?: string | null }
  | { op: "update"; id: string; content?: string; status?: ItemStatus; held?: boolean; check?: string }
  | { op: "remove"; id: string }
  | { op: "move"; id: string; after: string | null };

export interface CheckResults {
  readonly results: readonly CheckResult[];
}

export interface RunChecksParams {
  readonly sessionId: string;
  /** A command; undefined: all checks that are set. */
  readonly check?: string;
  /** Set if the checks run without the undecided changes. */
  readonly base?: true;
}

/** A command that the workspace suggests as a check, and the file or folder that suggests it. */
export interface SuggestedCheck {
  readonly command: string;
  readonly source: string;
}

/** The tokens and the cost of a run. */
export interface Usage {
  /** The number of requests that got a complete answer. The tokens include those of answers that broke off or were stopped. */
  readonly requests: number;
  /** Without the cached tokens. */
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  /** In US dollars; null if the model's price is unknown. */
  readonly costUsd: number | null;
}

export interface RunResult {
  readonly sessionId: string;
  readonly stopReason: string;
  readonly message: string;
  /** Of this run. */
  readonly usage: Usage;
  /** Set exactly when `stopReason` is `error`. */
  readonly error: { readonly kind: string; readonly message: string; readonly retryable: boolean } | null;
  /**
   * A short summary of the whole session: what was done and decided, and what is not done or not verified. May be
   * empty.
   */
  readonly record: string;
}

export interface OpenedSession {
  readonly sessionId: string;
  readonly state: SessionRow["state"];
  /** The mode of the last run; `agent` before the first one, or if an earlier version saved the session without it. */
  readonly mode: Mode;
  readonly plan: Plan;
  readonly edits: Edits;
  readonly transcript: readonly {
    readonly role: "user" | "context" | "assistant" | "tool";
    readonly text: string;
    /** Whether a tool call or its command failed. */
    readonly failed: boolean;
    /** What a tool call returned, shortened; empty for the other roles. */
    readonly result: string;
    /**
     * For a prompt: the state before it, to which the session can be rewound. Null for the other roles, for a message
     * during a run, and in sessions of earlier versions.
     */
    readonly checkpoint: number | null;
  }[];
}

/**
 * `everything`: the conversation, the plan and the proposals; also undoes what the user accepted later. `conversation`:
 * only the conversation. `fork`: a new session that begins with the conversation, the plan and the proposals of that
 * moment.
 */
export type RewindScope = "everything" | "conversation" | "fork";

export interface RewindResult {
  readonly sessionId: string;
  /** The prompt that the conversation no longer contains. */
  readonly prompt: string;
  /** The files whose accepted text could not be undone, with the reasons. */
  readonly kept: readonly Outcome[];
}

/** `plan`: the agent only reads files and writes the plan. `ask`: the agent only reads files and answers. */
export type Mode = "agent" | "plan" | "ask";

/** What a run continues without a prompt: a run that did not finish, or a plan that the user approved. */
export type Continuation = "paused" | "plan";

/**
 * What a decision applies to: everything, a file, a hunk, some changes, or all hunks that were last changed under a
 * plan item (`item`, its id).
 */
export type Target =
  { all: true } | { uri: string } | { uri: string; hunk: string } | { changes: readonly ChangeId[] } | { item: string };

/** The params of accept and reject, and the argument of `serverCommand`. */
export interface DecideParams {
  readonly sessionId: string;
  readonly target: Target;
  /**
   * The version of the edits that the user saw. If the target has changed since, the server refuses; without a version,
   * it does not compare.
   */
  readonly version?: number;
  /** Only for accept: replaces the user's lines in a conflict. */
  readonly resolution?: "proposed";
  /** Only for reject. The model reads it. */
  readonly reason?: string;
}

export interface Outcome {
  readonly uri: string;
  /** Null: the file as a whole. */
  readonly hunk: string | null;
  readonly outcome: "applied" | "rejected" | "conflict" | "failed";
  /** The reason or a note, for the user; may be empty. */
  readonly message: string;
}

export interface ReviewResult {
  readonly outcomes: readonly Outcome[];
  /**
   * Null for this client: it takes differences, so it got the new state before the answer (docs/protocol.md,
   * `ReviewResult`).
   */
  readonly edits: Edits | null;
}

export interface AmendResult {
  /** As in `ReviewResult`. */
  readonly edits: Edits | null;
}

interface EventOf<Kind extends string> {
  readonly sessionId: string;
  readonly seq: number;
  readonly kind: Kind;
}

/** The usage of the run so far. */
export interface UsageEvent extends EventOf<"usage">, Usage {
  /** The size of the conversation in the model's context window, in tokens. */
  readonly contextTokens: number;
  /** The size of the window in tokens; null if it is unknown. */
  readonly contextLimit: number | null;
}

export interface CommandStarted extends EventOf<"command"> {
  readonly toolCallId: string;
  readonly itemId: string | null;
  readonly command: string;
  readonly cwd: string;
  readonly mode: "sandboxed" | "workspace";
  /** Whether it may use the internet. */
  readonly network: boolean;
  /** Further services that it requested, as `host:port`. */
  readonly services: readonly string[];
  /**
   * Set for a background command (`cmd-1`) and for every check (`check-1`), whether the user, a search or the agent
   * runs it. `agent/command/stop` takes it.
   */
  readonly handle: string | null;
}

export interface CommandEnded extends EventOf<"command_ended"> {
  readonly toolCallId: string;
  readonly handle: string | null;
  /** Null unless `ended` is `exited`. */
  readonly exitCode: number | null;
  readonly seconds: number;
  readonly ended: "exited" | "timeout" | "stopped" | "failed";
}

export type AgentEvent =
  | (EventOf<"run_started"> & { readonly model: string; readonly checkpoint: number | null })
  | (EventOf<"rules"> & { readonly files: readonly { readonly uri: string; readonly cut: boolean }[] })
  | (EventOf<"context"> & { readonly title: string; readonly text: string })
  | (EventOf<"round_started"> & { readonly round: number })
  | (EventOf<"text"> & { readonly text: string })
  | (EventOf<"thinking"> & { readonly text: string })
  | (EventOf<"tool_started"> & {
      readonly toolCallId: string;
      readonly name: string;
      readonly toolKind: string;
      readonly title: string;
      readonly input: Readonly<Record<string, unknown>>;
      readonly locations: readonly { readonly uri: string; readonly line: number | null }[];
    })
  | CommandStarted
  | (EventOf<"tool_output"> & { readonly toolCallId: string; readonly text: string })
  | CommandEnded
  | (EventOf<"check_finished"> & CheckResult)
  | (EventOf<"check_search"> & {
      readonly handle: string;
      readonly commands: readonly string[];
      /** The number of the run that begins, from 1. */
      readonly runs: number;
      readonly mostRuns: number;
      readonly changes: number;
      /** How many of the `changes` are in the smallest set that has passed so far. */
      readonly left: number;
    })
  | (EventOf<"smallest_set"> & SmallestSet)
  | (EventOf<"tool_finished"> & { readonly toolCallId: string; readonly isError: boolean; readonly text: string })
  | (EventOf<"reminder"> & { readonly text: string })
  | (EventOf<"steered"> & { readonly text: string })
  | (EventOf<"feedback"> & { readonly text: string })
  | (EventOf<"retry"> & { readonly attempt: number; readonly delayMs: number; readonly reason: string })
  | UsageEvent
  | (EventOf<"room_made"> & { readonly text: string })
  | (EventOf<"run_finished"> & { readonly stopReason: string });

export interface ApplyEditParams extends ApplyWorkspaceEditParams {
  /**
   * The SHA-256 of the bytes on disk of each existing file, in hexadecimal, by URI. A file with unsaved changes is not
   * compared.
   */
  readonly digests?: Readonly<Record<string, string>>;
}

/** A question to the user: whether a command may run, or whether the file `uri` may be read, changed or accepted. */
export interface ApproveParams {
  readonly sessionId: string;
  /** Null if the question confirms the user's own accept of a protected file, for which there is no tool call. */
  readonly toolCallId: string | null;
  readonly kind: "command" | "file";
  /** Where the command runs. Null for a file, as are `command` and `cwd`. */
  readonly mode: "sandboxed" | "workspace" | null;
  readonly command: string | null;
  readonly cwd: string | null;
  /** Null for a command. */
  readonly uri: string | null;
  /** Why the user is asked, the most important reason first. */
  readonly reasons: readonly string[];
}

export interface AskParams {
  readonly sessionId: string;
  readonly toolCallId: string;
  readonly question: string;
  /** Suggested answers. The user can also give any other text. */
  readonly options: readonly string[];
}

export interface AskResult {
  /** Null if the question was withdrawn without an answer. */
  readonly answer: string | null;
}

export interface FormerFolder {
  /** A folder that no longer exists. */
  readonly uri: string;
  /** The number of its saved sessions. */
  readonly sessions: number;
}

export interface FormerFoldersResult {
  readonly folders: readonly FormerFolder[];
}

export interface ClaimsParams {
  readonly uris: readonly string[];
}

export interface ClaimsResult {
  /** The files that the editor must write. */
  readonly claimed: readonly string[];
  /** The files that nobody can write now, each with the reason for the user. */
  readonly refused: readonly { readonly uri: string; readonly reason: string }[];
}

export interface DiagnosticsParams {
  /** Null: all files with diagnostics. */
  readonly uri: string | null;
}

export interface DiagnosticsResult {
  readonly files: readonly { readonly uri: string; readonly diagnostics: readonly Diagnostic[] }[];
}

/** Selected lines. `range` is in the document, or in the cell of a notebook. */
export type SelectionItem =
  /** In a file. */
  | { readonly kind: "selection"; readonly uri: string; readonly range?: Range }
  /**
   * In a document that is not a file as the agent reads it. If it shows a part or another version of a file, `uri` is
   * that file and `name` says what the document shows, else `name` is the name of the document.
   */
  | {
      readonly kind: "selection";
      readonly uri?: string;
      readonly name: string;
      readonly range?: Range;
      readonly text: string;
    };

export type ContextItem =
  /** A file or folder (`file`, the default), or the lines of `range` in it. */
  | { readonly kind?: "file"; readonly uri: string; readonly range?: Range }
  | SelectionItem
  /** The problems that the editor shows in one file or, without `uri`, in all files. */
  | { readonly kind: "problems"; readonly uri?: string }
  /** The uncommitted changes; `text` is the output of `git diff`. */
  | { readonly kind: "changes"; readonly text: string }
  /** A picture that is in no file of the workspace. `name` is for the user; `data` is base64. */
  | { readonly kind: "image"; readonly name: string; readonly data: string };

export type ImageItem = Extract<ContextItem, { kind: "image" }>;

export interface ChangedFile {
  readonly uri: string;
  readonly state: "modified" | "added" | "deleted" | "renamed" | "untracked" | "conflict";
}

/** What the user is looking at. */
export interface EditorContext {
  readonly activeFile: string | null;
  readonly visibleRange: Range | null;
  readonly selection: Range | null;
  readonly openFiles: readonly string[];
  /**
   * The number of problems in the open files. `files` contains only the worst few problems, each in an entry of its
   * own.
   */
  readonly problems: { readonly errors: number; readonly warnings: number } & DiagnosticsResult;
  /** Null without a repository. `changed` counts all changed files; `files` contains only some of them. */
  readonly git: { readonly branch: string; readonly changed: number; readonly files: readonly ChangedFile[] } | null;
}

export interface PageResult {
  readonly markdown: string;
}

export interface RecordResult {
  readonly markdown: string;
  /** What `record` of a `RunResult` would be now. */
  readonly summary: string;
  /** Empty if nothing is accepted. */
  readonly commitMessage: string;
  /** The record as JSON, with which others can verify the work. The client only copies it. */
  readonly record: object;
}

export interface ApproveResult {
  readonly option: "allow_once" | "allow_session" | "reject";
  /** Only for `reject`; the model reads it. */
  readonly reason?: string;
}
