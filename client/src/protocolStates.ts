// The states of sessions: the plan, the proposed edits and the list of sessions (docs/protocol.md, Shapes). Mirrors
// server/fairlead/lsp/protocol_states.py.

import type { JSONPatchDocument } from "immutable-json-patch";

export type ItemStatus = "pending" | "in_progress" | "completed";

export interface EvidenceCommand {
  readonly command: string;
  /** Null if the command was killed. */
  readonly exitCode: number | null;
  readonly toolCallId: string;
  readonly seconds: number;
  /** Whether it was stopped on purpose, which is not a failure. */
  readonly stopped: boolean;
  /** Whether it is a test run, a build, a linter or a type checker, and its exit code shows the result. */
  readonly verifies: boolean;
  /** Whether it is a check that ran on the files without the proposals. */
  readonly withoutChanges: boolean;
}

export interface Evidence {
  readonly files: readonly string[];
  readonly commands: readonly EvidenceCommand[];
  /** The number of reads and searches. */
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
  /** Whether the user put the item on hold: the agent must not start it. */
  readonly held: boolean;
  /** Whether the user wrote the item. */
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

/** Work that was done while no item was in progress, before or after there was a plan. */
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
  /** The steps that the server inferred, if the model works without a plan. */
  readonly inferred: readonly string[];
  readonly completed: number;
  readonly total: number;
  readonly roundsSinceUpdate: number;
}

export interface Hunk {
  readonly id: string;
  /** From 1. As in a unified diff, an empty side gives the line before it. */
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

/**
 * A plan item whose changes to a file were changed again: by another item or, if `byItemId` is null, outside of the
 * plan.
 */
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
  /** The proposed permission bits in octal; null if they do not change. */
  readonly mode: string | null;
  readonly protected: boolean;
  readonly itemIds: readonly string[];
  readonly overtaken: readonly Overtaken[];
  readonly additions: number;
  readonly deletions: number;
  readonly hunks: readonly Hunk[];
  /** The errors that the proposed text causes. Their ranges are in the proposed text. */
  readonly problems: readonly Diagnostic[];
}

export interface Edits {
  readonly sessionId: string;
  readonly version: number;
  /** Risky and protected files first. */
  readonly files: readonly FileEdits[];
  /** What an undo would undo, such as "Accept a.py"; null if nothing. */
  readonly undoLabel: string | null;
  readonly redoLabel: string | null;
  /**
   * The failed check of what was accepted or, if none failed, the last one. Null as soon as a file or a proposal
   * changes.
   */
  readonly checked: CheckResult | null;
  /**
   * The last smallest set that a search found, with only the undecided changes. Null if there is none or it no longer
   * applies.
   */
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
  /** How many of the agent's changes the user has accepted, and how many there are in total. */
  readonly accepted: number;
  readonly total: number;
  /** Whether it fails without any of the changes and passes with all of them. */
  readonly proves: boolean;
  /** Whether a file or a proposal changed while it ran. */
  readonly outdated: boolean;
  /** What the result means. */
  readonly message: string;
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

export interface Position {
  readonly line: number;
  readonly character: number;
}
