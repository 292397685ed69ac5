// The names and shapes of docs/protocol.md. Mirrors server/fairlead/lsp/protocol.py. The tests of both read the messages in
// tests/goldens.

import type { JSONPatchDocument } from "immutable-json-patch";
import type { ApplyWorkspaceEditParams } from "vscode-languageclient/node";

export const method = {
  createSession: "agent/sessions/create",
  listSessions: "agent/sessions/list",
  openSession: "agent/sessions/open",
  rewindSession: "agent/sessions/rewind",
  deleteSession: "agent/sessions/delete",
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

/** The commands in the server's CodeLenses. */
export const serverCommand = { accept: "fairlead.server.accept", reject: "fairlead.server.reject" } as const;

export const scheme = {
  base: "fairlead-base",
  proposed: "fairlead-proposed",
  page: "fairlead-page",
} as const;

export type ItemStatus = "pending" | "in_progress" | "completed";

export interface EvidenceCommand {
  readonly command: string;
  /** Null if the command was killed. */
  readonly exitCode: number | null;
  readonly toolCallId: string;
  readonly seconds: number;
  /** Whether it was stopped on purpose, which is not a failure. */
  readonly stopped: boolean;
  readonly verifies: boolean;
  readonly withoutChanges: boolean;
}

export interface Evidence {
  readonly files: readonly string[];
  readonly commands: readonly EvidenceCommand[];
  readonly looks: number;
  readonly tokens: number;
  readonly costUsd: number | null;
  readonly seconds: number;
}

export interface PlanItem {
  readonly id: string;
  readonly content: string;
  readonly status: ItemStatus;
  readonly activeForm: string;
  readonly held: boolean;
  readonly byUser: boolean;
  /** A command that must pass before the step is completed; empty: none. */
  readonly check: string;
  /** Whether the user attached or removed the check. */
  readonly checkByUser: boolean;
  /** Whether its command has passed and failed on the same files. */
  readonly flaky: boolean;
  readonly verification:
    "none" | "looked" | "unverified" | "verified" | "proved" | "stale" | "failed" | "noEvidence" | "marked";
  /** The command that decides the verification; empty if none does. */
  readonly decidedBy: string;
  /** URIs of the files that changed after that command. */
  readonly changedSince: readonly string[];
  /** The errors that the proposed texts of its files cause. */
  readonly newErrors: number;
  readonly evidence: Evidence;
}

export interface Outside {
  readonly id: "before" | "unplanned";
  readonly evidence: Evidence;
}

export interface Plan {
  readonly sessionId: string;
  readonly version: number;
  readonly revision: number;
  readonly items: readonly PlanItem[];
  readonly outside: readonly Outside[];
  readonly inferred: readonly string[];
  readonly completed: number;
  readonly total: number;
  readonly roundsSinceUpdate: number;
}

/** One change of the plan by the user. `after: null` means the first position; without `after`, the last. */
export type PlanOp =
  | { op: "add"; content: string; after?: string | null }
  | { op: "update"; id: string; content?: string; status?: ItemStatus; held?: boolean; check?: string }
  | { op: "remove"; id: string }
  | { op: "move"; id: string; after: string | null };

export interface Hunk {
  readonly id: string;
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  /** The first changed line that is not blank, short and safe to show. */
  readonly snippet: string;
  readonly itemId: string | null;
  readonly state: "pending" | "conflict";
  /** `current` is null if the user deleted the file. */
  readonly conflict: { readonly base: string; readonly current: string | null; readonly proposed: string } | null;
}

/** A plan item whose changes of a file were changed again: by another item or, if `byItemId` is null, outside of the plan. */
export interface Overtaken {
  readonly itemId: string;
  readonly byItemId: string | null;
}

export interface FileEdits {
  readonly uri: string;
  readonly kind: "create" | "modify" | "delete" | "rename";
  readonly newUri: string | null;
  readonly state: "pending" | "conflict";
  readonly risk: "deletion" | "configuration" | "ci" | null;
  readonly binary: boolean;
  readonly mode: string | null;
  readonly protected: boolean;
  readonly itemIds: readonly string[];
  readonly overtaken: readonly Overtaken[];
  readonly additions: number;
  readonly deletions: number;
  readonly hunks: readonly Hunk[];
  /** The problems that the proposed text causes, errors first. Their ranges are in the proposed text. */
  readonly problems: readonly Diagnostic[];
}

export interface Edits {
  readonly sessionId: string;
  readonly version: number;
  /** Risky files first. */
  readonly files: readonly FileEdits[];
  /** What an undo would undo, such as "Accept a.py"; null if nothing. */
  readonly undoLabel: string | null;
  readonly redoLabel: string | null;
  /** The failed check of what was accepted or, if none failed, the last one. Null as soon as a file or a proposal changes. */
  readonly checked: CheckResult | null;
  /** The last smallest set that a search found, with the changes that are still undecided. Null if there is none, or if it no longer applies. */
  readonly smallest: SmallestSet | null;
}

/** The difference of a session's plan or edits from the state with the version `since`. */
export interface Changed {
  readonly sessionId: string;
  readonly since: number;
  readonly patch: JSONPatchDocument;
}

/** The result of a search for the smallest set of changes with which checks pass. */
export interface SmallestSet {
  readonly commands: readonly string[];
  readonly outcome: "minimal" | "limit" | "stopped" | "fails" | "flaky" | "changed";
  readonly runs: number;
  /** The version of the edits for which it was found. */
  readonly version: number;
  readonly needed: readonly ChangeId[];
  readonly notNeeded: readonly ChangeId[];
  readonly message: string;
}

/** The result of a check that the user ran. */
export interface CheckResult {
  readonly toolCallId: string | null;
  readonly itemId: string | null;
  readonly command: string;
  /** The undecided changes that it saw. */
  readonly changes: "all" | "some" | "none";
  /** Null: it was stopped or could not run. */
  readonly passed: boolean | null;
  readonly exitCode: number | null;
  readonly seconds: number;
  /** How many changes of the agent the user has accepted, and how many changes there are. */
  readonly accepted: number;
  readonly total: number;
  /** Whether it fails without any of the changes and passes with all of them. */
  readonly proves: boolean;
  /** Whether a file or a proposal changed while it ran. */
  readonly outdated: boolean;
  /** What the result means. */
  readonly message: string;
}

export interface CheckResults {
  readonly results: readonly CheckResult[];
}

export interface RunChecksParams {
  readonly sessionId: string;
  /** Undefined: all checks that are set. */
  readonly check?: string;
  /** Whether they run without the undecided changes. */
  readonly base?: true;
}

/** A command that the workspace suggests as a check, and the file that suggests it. */
export interface SuggestedCheck {
  readonly command: string;
  readonly source: string;
}

export interface Usage {
  readonly requests: number;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number | null;
}

export interface RunResult {
  readonly sessionId: string;
  readonly stopReason: string;
  readonly message: string;
  readonly usage: Usage;
  readonly error: { readonly kind: string; readonly message: string; readonly retryable: boolean } | null;
  /** A short summary of what was done and verified. */
  readonly record: string;
}

/** A session in the server's list. */
export interface SessionRow {
  readonly sessionId: string;
  readonly title: string;
  /** When its last run started or ended (ISO 8601). */
  readonly updatedAt: string;
  readonly state: "idle" | "running" | "paused";
  readonly completed: number;
  readonly total: number;
  readonly pendingFiles: number;
}

export interface SessionList {
  /** Newest first. */
  readonly sessions: readonly SessionRow[];
}

export interface OpenedSession {
  readonly sessionId: string;
  readonly state: SessionRow["state"];
  readonly plan: Plan;
  readonly edits: Edits;
  readonly transcript: readonly {
    readonly role: "user" | "context" | "assistant" | "tool";
    readonly text: string;
    readonly failed: boolean;
    readonly result: string;
    readonly checkpoint: number | null;
  }[];
}

/** `everything`: conversation, plan and proposals. `fork`: a new session with these. */
export type RewindScope = "everything" | "conversation" | "fork";

export interface RewindResult {
  readonly sessionId: string;
  readonly prompt: string;
  /** The files whose accepted text could not be undone. */
  readonly kept: readonly Outcome[];
}

/** `plan`: the agent only reads and writes a plan. `ask`: the agent only reads and answers. */
export type Mode = "agent" | "plan" | "ask";

/** What a run continues without a prompt: a run that did not finish, or a plan that the user approved. */
export type Continuation = "paused" | "plan";

/** A hunk; with `hunk: null`, a whole file. */
export interface ChangeId {
  readonly uri: string;
  readonly hunk: string | null;
}

export type Target =
  { all: true } | { uri: string } | { uri: string; hunk: string } | { changes: readonly ChangeId[] } | { item: string };

/** The params of accept and reject, and the argument of the commands in the server's CodeLenses. */
export interface DecideParams {
  readonly sessionId: string;
  readonly target: Target;
  /** The version of the edits that the user saw. */
  readonly version?: number;
  readonly resolution?: "proposed";
  readonly reason?: string;
}

export interface Outcome {
  readonly uri: string;
  readonly hunk: string | null;
  readonly outcome: "applied" | "rejected" | "conflict" | "failed";
  readonly message: string;
}

export interface ReviewResult {
  readonly outcomes: readonly Outcome[];
  readonly edits: Edits | null;
}

export interface AmendResult {
  readonly edits: Edits | null;
}

interface EventOf<Kind extends string> {
  readonly sessionId: string;
  readonly seq: number;
  readonly kind: Kind;
}

export interface UsageEvent extends EventOf<"usage">, Usage {
  /** The tokens of the conversation in the model's context window. */
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
  readonly network: boolean;
  /** Set for a background command, and for a check that the user ran. */
  readonly handle: string | null;
}

export interface CommandEnded extends EventOf<"command_ended"> {
  readonly toolCallId: string;
  readonly handle: string | null;
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
      readonly runs: number;
      readonly mostRuns: number;
      readonly changes: number;
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
  /** By URI, the SHA-256 of a file's bytes on disk. Does not apply to files with unsaved changes. */
  readonly digests?: Readonly<Record<string, string>>;
}

export interface ApproveParams {
  readonly sessionId: string;
  readonly toolCallId: string | null;
  readonly kind: "command" | "file";
  readonly mode: "sandboxed" | "workspace" | null;
  readonly command: string | null;
  readonly cwd: string | null;
  readonly uri: string | null;
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
  /** Null if there was no answer. */
  readonly answer: string | null;
}

export interface DiagnosticsParams {
  /** Null: all files with diagnostics. */
  readonly uri: string | null;
}

export interface Diagnostic {
  readonly range: Range;
  /** As in LSP: 1 error, 2 warning, 3 information, 4 hint. */
  readonly severity: number;
  readonly message: string;
  readonly source: string | null;
}

export interface Range {
  readonly start: Position;
  readonly end: Position;
}

export interface Position {
  readonly line: number;
  readonly character: number;
}

export interface DiagnosticsResult {
  readonly files: readonly { readonly uri: string; readonly diagnostics: readonly Diagnostic[] }[];
}

export type ContextItem =
  | { readonly kind?: "file" | "selection"; readonly uri: string; readonly range?: Range }
  | { readonly kind: "problems"; readonly uri?: string }
  | { readonly kind: "changes"; readonly text: string }
  /** A picture that is in no file of the workspace; the data is base64. */
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
  /** In the open files. `files`: the worst few. */
  readonly problems: { readonly errors: number; readonly warnings: number } & DiagnosticsResult;
  /** `files`: some of the changed ones. */
  readonly git: { readonly branch: string; readonly changed: number; readonly files: readonly ChangedFile[] } | null;
}

export interface PageResult {
  readonly markdown: string;
}

export interface RecordResult {
  readonly markdown: string;
  /** Empty if nothing is accepted. */
  readonly commitMessage: string;
  /** For others to verify. The client only copies it. */
  readonly record: object;
}

export interface ApproveResult {
  readonly option: "allow_once" | "allow_session" | "reject";
  readonly reason?: string;
}
