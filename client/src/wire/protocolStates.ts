// The states of sessions: the plan, the proposed edits and the list of sessions (docs/protocol.md, Shapes). Mirrors
// server/fairlead/lsp/protocol_states.py.

import type { JSONPatchDocument } from "immutable-json-patch";

export type ItemStatus = "pending" | "in_progress" | "completed";

export interface EvidenceCommand {
  readonly command: string;
  /** Null if the command was stopped, timed out or could not be started. */
  readonly exitCode: number | null;
  readonly toolCallId: string;
  readonly seconds: number;
  /** Whether the command was stopped on purpose, which is not a failure. */
  readonly stopped: boolean;
  /** Whether it is a test run, a build, a linter or a type checker, and its exit code shows the result. */
  readonly verifies: boolean;
  /** Whether it is a check that ran on the files without the proposals. */
  readonly withoutChanges: boolean;
}

export interface Evidence {
  /** The URIs of the changed files. */
  readonly files: readonly string[];
  readonly commands: readonly EvidenceCommand[];
  /** The number of reads and searches. */
  readonly looks: number;
  /** All tokens of the model's requests. */
  readonly tokens: number;
  /** In US dollars; null if the model's price is unknown or no tokens were used. */
  readonly costUsd: number | null;
  /** The time in progress. */
  readonly seconds: number;
}

export interface PlanItem {
  readonly id: string;
  readonly content: string;
  readonly status: ItemStatus;
  /** The item's text while it is in progress; may be empty. */
  readonly activeForm: string;
  /** Whether the user put the item on hold: the agent must not start it. */
  readonly held: boolean;
  /** Whether the user added or reworded the item. */
  readonly byUser: boolean;
  /** A command that must pass before the step is completed; empty: none. */
  readonly check: string;
  /** Whether the user set or removed the check. The agent then cannot change it. */
  readonly checkByUser: boolean;
  /** Whether the command in `decidedBy` has passed and then failed on the same files. The item is then `unverified`. */
  readonly flaky: boolean;
  /**
   * The URIs of the ignored files and folders that commands of this session left, if the command in `decidedBy` passes
   * only with them. The item is then `unverified`.
   */
  readonly leftovers: readonly string[];
  /** What supports a completed item; `none` for any other (docs/protocol.md, `PlanItem`). */
  readonly verification:
    "none" | "looked" | "unverified" | "verified" | "proved" | "stale" | "failed" | "noEvidence" | "marked";
  /** The command that the verification is based on; empty if there is none. */
  readonly decidedBy: string;
  /** If the item is `stale`: the URIs of the files that changed after that command. Else empty. */
  readonly changedSince: readonly string[];
  /** The number of errors that the proposals cause in the files that the item changed. */
  readonly newErrors: number;
  readonly evidence: Evidence;
}

/**
 * Work that was done while no item was in progress: before there was a plan, or later between its items (`unplanned`).
 */
export interface Outside {
  readonly id: "before" | "unplanned";
  readonly evidence: Evidence;
}

export interface Plan {
  readonly sessionId: string;
  /** Increases with every change. */
  readonly version: number;
  /** Increases only when an item's id, content, status, `held`, `check` or position changes. */
  readonly revision: number;
  readonly items: readonly PlanItem[];
  readonly outside: readonly Outside[];
  /** The steps that the server inferred from the tool calls, if the model works without a plan; else empty. */
  readonly inferred: readonly string[];
  readonly completed: number;
  readonly total: number;
  readonly roundsSinceUpdate: number;
  /** Whether a run in the mode `plan` has begun since the last one in the mode `agent`. */
  readonly awaitsApproval: boolean;
}

export interface Hunk {
  readonly id: string;
  /**
   * The hunk's first line in the base, from 1; `newStart` is that in the proposed text. As in a unified diff, the start
   * of a side without lines is the line before the hunk.
   */
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  /**
   * The first new line that is not blank, or else the first such old line. Shortened, and with invisible characters
   * escaped.
   */
  readonly snippet: string;
  /** The plan item that was in progress at the last change; null if none was. */
  readonly itemId: string | null;
  readonly state: "pending" | "conflict";
  /**
   * The three texts of a conflict; null without one. `current` is the user's text, null if the user deleted the file.
   */
  readonly conflict: { readonly base: string; readonly current: string | null; readonly proposed: string } | null;
}

/**
 * A plan item whose changes to a file were changed again, in part or completely. `byItemId` is the last item that did
 * so; null: no item was in progress then.
 */
export interface Overtaken {
  readonly itemId: string;
  readonly byItemId: string | null;
}

export interface FileEdits {
  readonly uri: string;
  readonly kind: "create" | "modify" | "delete" | "rename";
  /** Set for a rename. `uri` is then the old name. */
  readonly newUri: string | null;
  readonly state: "pending" | "conflict";
  /** Why accepting the file needs attention; null if it does not. */
  readonly risk: "deletion" | "configuration" | "ci" | null;
  /** Whether the proposal is bytes (not text, or text in another encoding). The file then has no hunks. */
  readonly binary: boolean;
  /** The proposed permission bits in octal; null if they do not change. The file is decided as a whole if they do. */
  readonly mode: string | null;
  /** Whether an accept of the file needs a separate confirmation by the user. */
  readonly protected: boolean;
  readonly itemIds: readonly string[];
  readonly overtaken: readonly Overtaken[];
  /** The number of added lines; `deletions` is the number of removed lines. */
  readonly additions: number;
  readonly deletions: number;
  /** The undecided hunks, in order. A renamed or an empty new file may have none. */
  readonly hunks: readonly Hunk[];
  /**
   * The errors that the proposed text causes and that the file does not have without it. Their ranges are in the
   * proposed text.
   */
  readonly problems: readonly Diagnostic[];
}

export interface Edits {
  readonly sessionId: string;
  /** Increases with every change. */
  readonly version: number;
  /** The files with undecided changes, risky and protected ones first. */
  readonly files: readonly FileEdits[];
  /** What an undo would undo, such as "Accept a.py"; null if nothing. */
  readonly undoLabel: string | null;
  readonly redoLabel: string | null;
  /**
   * The first failed check of what was accepted or, if none failed, the last one that passed. Null if there is none,
   * and as soon as a file or a proposal changes.
   */
  readonly checked: CheckResult | null;
  /**
   * The last smallest set that a search found, with only the undecided changes. Null if there is none or it no longer
   * applies.
   */
  readonly smallest: SmallestSet | null;
}

/**
 * The difference between the state of a session's plan or edits with the version `since` and the new state. The new
 * version is in the patch.
 */
export interface Changed {
  readonly sessionId: string;
  readonly since: number;
  readonly patch: JSONPatchDocument;
}

/** The result of a search for the smallest set of changes with which checks pass. */
export interface SmallestSet {
  readonly commands: readonly string[];
  /**
   * `minimal`: the checks pass with `needed`, and fail without any one of its changes. `limit`, `stopped`: they pass
   * with `needed`, but fewer may be enough. `fails`: they fail with all changes. `flaky`: they passed and failed with
   * the same changes. `changed`: the proposals changed, or the agent began to work.
   */
  readonly outcome: "minimal" | "limit" | "stopped" | "fails" | "flaky" | "changed";
  readonly runs: number;
  /** The version of the edits for which it was found. */
  readonly version: number;
  /** The changes in the set. Like `notNeeded`, empty if no smaller set was found. */
  readonly needed: readonly ChangeId[];
  /** The changes that the checks pass without. */
  readonly notNeeded: readonly ChangeId[];
  readonly message: string;
}

/**
 * The result of a check that the user requested, or that ran automatically after an accept
 * (`check.afterPartialAccept`).
 */
export interface CheckResult {
  /** The call id in the check's event `command`; null if the check did not start or was stopped. */
  readonly toolCallId: string | null;
  /** The plan item whose evidence it is; null if it belongs to none. */
  readonly itemId: string | null;
  readonly command: string;
  /** Which of the undecided changes it ran with. */
  readonly changes: "all" | "some" | "none";
  /** Null: it was stopped or could not run. */
  readonly passed: boolean | null;
  readonly exitCode: number | null;
  readonly seconds: number;
  /**
   * How many of the agent's changes the user has accepted. `total` also includes the rejected and the undecided ones.
   */
  readonly accepted: number;
  readonly total: number;
  /** Whether it fails without any of the changes and passes with all of them. */
  readonly proves: boolean;
  /** Whether a file or a proposal changed while it ran. */
  readonly outdated: boolean;
  /** What the result means, for the user. */
  readonly message: string;
}

/** A session in the server's list. */
export interface SessionRow {
  readonly sessionId: string;
  /** The first line of the first prompt, shortened; empty before there is one. */
  readonly title: string;
  /** When its last run started or ended, or when it was created if it has not run yet (ISO 8601, UTC). */
  readonly updatedAt: string;
  /** `paused`: its last run is unfinished, because the server ended or a limit was reached. */
  readonly state: "idle" | "running" | "paused";
  /** How many items of its plan are completed, of `total`. */
  readonly completed: number;
  readonly total: number;
  readonly pendingFiles: number;
  /**
   * Whether another window or terminal has it open: the server refuses requests for it until that one is closed. The
   * other fields may then be out of date.
   */
  readonly openElsewhere: boolean;
}

export interface SessionList {
  /** Newest first. */
  readonly sessions: readonly SessionRow[];
}

/** A hunk; with `hunk: null`, a whole file. */
export interface ChangeId {
  readonly uri: string;
  readonly hunk: string | null;
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

/** A position in a text. Both numbers count from 0; `character` is in UTF-16 code units. */
export interface Position {
  readonly line: number;
  readonly character: number;
}
