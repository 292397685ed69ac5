// The rows of the Proposed Changes view: files, their hunks, a check of what was accepted, and sessions if there are
// several. Pure.

import { t } from "@vscode/l10n";
import { countText } from "../../ui/format";
import { markOfChange, markOfFile } from "./smallestMarks";
import { isDecidedAsWhole, isDeletedByUser, weakens, type ChangeLocation } from "./changeNavigation";
import type { CheckResult, Edits, FileEdits, Hunk, Title } from "../../wire/protocolStates";
import type { Session } from "../../state/session";
import { titleText } from "../../state/serverTexts";
import { capitalized, plainMessage } from "../../ui/text";
import { hunkLabel, neededMark } from "../../ui/changeTexts";
import { errorCount, problemLines, problemsIn } from "../../ui/problemTexts";

/** A check of what the user accepted (`Edits.checked`). */
export interface CheckRow {
  readonly kind: "check";
  readonly sessionId: string;
  readonly result: CheckResult;
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
}

export type EditRow =
  | CheckRow
  | { readonly kind: "session"; readonly sessionId: string; readonly label: string; readonly description: string }
  | {
      readonly kind: "folder";
      readonly sessionId: string;
      /** Relative to the workspace. */
      readonly label: string;
      readonly description: string;
      readonly uris: readonly string[];
    }
  | {
      /** The changes that weaken tests, which are also below their files. */
      readonly kind: "weakened";
      readonly sessionId: string;
      readonly label: string;
      readonly description: string;
      readonly tooltip: string;
    }
  | {
      readonly kind: "file";
      /** Whether it is the row below `weakened`. */
      readonly isWeakened?: boolean;
      readonly sessionId: string;
      readonly file: FileEdits;
      readonly description: string;
      readonly tooltip: string;
    }
  | {
      readonly kind: "hunk";
      /** As for a file. */
      readonly isWeakened?: boolean;
      readonly sessionId: string;
      readonly file: FileEdits;
      readonly hunk: Hunk;
      readonly label: string;
      readonly description: string;
      readonly tooltip: string;
    };

/** Whether VS Code passed a row to a command. A command in the title of a diff gets the URI of the diff instead. */
export function isEditRow(argument: unknown): argument is EditRow {
  return typeof argument === "object" && argument !== null && "kind" in argument && "sessionId" in argument;
}

/** A change, or a file without one of its changes. */
export type Place = Omit<ChangeLocation, "line">;

type Risk = NonNullable<FileEdits["risk"]>;

/** All rows in display order, including collapsed ones. `hasFolders` as in `childRows`. */
export function allRows(
  sessions: readonly Session[],
  relative: (uri: string) => string,
  hasFolders = false,
): EditRow[] {
  const withDescendants = (row: EditRow): EditRow[] => [
    row,
    ...childRows(sessions, row, relative, hasFolders).flatMap(withDescendants),
  ];
  return childRows(sessions, undefined, relative, hasFolders).flatMap(withDescendants);
}

/** The parent of a row; undefined for a top row. `rows`: all rows in display order. */
export function parentRow(rows: readonly EditRow[], row: EditRow): EditRow | undefined {
  return rows.findLast((other) => isDescendant(row, other));
}

/**
 * The row to focus after `removed` and its children are removed: the next row, or else the previous row that does not
 * contain `removed`; undefined if there is neither.
 */
export function neighborRow(rows: readonly EditRow[], removed: EditRow): EditRow | undefined {
  const index = rows.findIndex((other) => rowId(other) === rowId(removed));
  const next = rows.slice(index + 1).find((other) => !isDescendant(other, removed));
  return next ?? rows.slice(0, Math.max(0, index)).findLast((other) => !isDescendant(removed, other));
}

function isDescendant(row: EditRow, other: EditRow): boolean {
  if (other.kind !== "folder") return rowId(row).startsWith(`${rowId(other)} `);
  return "file" in row && !row.isWeakened && row.sessionId === other.sessionId && other.uris.includes(row.file.uri);
}

/** The id of a row, which stays the same when the tree is refreshed. */
export function rowId(row: EditRow): string {
  switch (row.kind) {
    case "check":
      return `${row.sessionId} check`;
    case "session":
      return row.sessionId;
    case "folder":
      return `${row.sessionId} folder ${row.label}`;
    case "weakened":
      return `${row.sessionId} weakened`;
    case "file":
      return `${row.sessionId}${row.isWeakened ? " weakened" : ""} ${row.file.uri}`;
    case "hunk":
      return `${row.sessionId}${row.isWeakened ? " weakened" : ""} ${row.file.uri} ${row.hunk.id}`;
  }
}

/** How a risky change is marked, and why it is risky. */
export const RISKS: Record<Risk, { mark: string; icon: string; color: string; why: string }> = {
  deletion: { mark: t("deletion"), icon: "trash", color: "charts.red", why: t("Accepting deletes this file.") },
  ci: { mark: "CI", icon: "run-all", color: "charts.yellow", why: t("CI configuration.") },
  configuration: {
    mark: t("configuration"),
    icon: "gear",
    color: "charts.yellow",
    why: t("This file configures your project or your tools."),
  },
};

const PROTECTED = t("Protected: needs separate confirmation.");

/**
 * The children of `parent`, or the top-level rows if it is undefined. `hasFolders`: whether files are below their
 * folders, except for those that come first because they are risky or protected.
 */
export function childRows(
  sessions: readonly Session[],
  parent: EditRow | undefined,
  relative: (uri: string) => string,
  hasFolders = false,
): EditRow[] {
  if (parent === undefined) {
    const [only, another] = sessions;
    if (only && !another) return sessionRows(only, relative, hasFolders);
    return sessions.map((session) => ({
      kind: "session",
      sessionId: session.id,
      label: session.title || t("Task"),
      description: countText(session.edits?.files.length ?? 0, "file"),
    }));
  }
  if (parent.kind === "session") {
    const session = sessions.find((other) => other.id === parent.sessionId);
    return session ? sessionRows(session, relative, hasFolders) : [];
  }
  if (parent.kind === "weakened") {
    const session = sessions.find((other) => other.id === parent.sessionId);
    return session ? weakenedRows(session, relative) : [];
  }
  if (parent.kind === "folder") {
    const session = sessions.find((other) => other.id === parent.sessionId);
    const files = session?.edits?.files.filter(({ uri }) => parent.uris.includes(uri)) ?? [];
    return session ? files.map((file) => fileRow(session, file, relative, parent.label)) : [];
  }
  if (parent.kind !== "file" || parent.isWeakened || isDecidedAsWhole(parent.file)) return [];
  return hunkRows(parent.sessionId, parent.file, sessions.find(({ id }) => id === parent.sessionId)?.edits);
}

function sessionRows(session: Session, relative: (uri: string) => string, hasFolders: boolean): EditRow[] {
  const checked = session.edits?.checked;
  const files = session.edits?.files ?? [];
  const rows = hasFolders ? folderRows(session, relative) : files.map((file) => fileRow(session, file, relative));
  return [...(checked ? [checkRow(session.id, checked)] : []), ...weakenedGroup(session), ...rows];
}

/** The row of the changes that weaken tests, if there are any. */
function weakenedGroup(session: Session): EditRow[] {
  const count = (session.edits?.files ?? []).reduce(
    (sum, file) => sum + file.hunks.filter((hunk) => weakens(file, hunk)).length + (file.weakens.length > 0 ? 1 : 0),
    0,
  );
  if (count === 0) return [];
  return [
    {
      kind: "weakened",
      sessionId: session.id,
      label: t("Weakened Tests"),
      description: `${countText(count, "change")} · ${t("not in Accept All")}`,
      tooltip: t("These changes make tests check less. Accept All leaves them, so that you look at each."),
    },
  ];
}

/** The files and changes that weaken tests, each with the first reason. */
function weakenedRows(session: Session, relative: (uri: string) => string): EditRow[] {
  return (session.edits?.files ?? []).flatMap((file): EditRow[] => {
    const name = relative(file.uri).split("/").at(-1) ?? "";
    const words = (reasons: readonly Title[]): Pick<EditRow & { kind: "file" }, "description" | "tooltip"> => ({
      description: plainMessage(reasons.slice(0, 1).map(titleText).join("")),
      tooltip: [relative(file.uri), ...weakenedLines(reasons)].join("\n"),
    });
    const [common, marked] = [
      { sessionId: session.id, file, isWeakened: true },
      file.hunks.filter((one) => weakens(file, one)),
    ];
    return [
      ...(file.weakens.length > 0 ? [{ kind: "file" as const, ...common, ...words(file.weakens) }] : []),
      ...marked.map((hunk) => ({
        kind: "hunk" as const,
        ...common,
        hunk,
        label: `${name}: ${hunkLabel(hunk)}`,
        ...words(hunk.weakens),
      })),
    ];
  });
}

/** Why a change weakens tests, a line for each reason. */
const weakenedLines = (reasons: readonly Title[]): string[] =>
  reasons.map((reason) => t("Weakens a test: {0}", plainMessage(titleText(reason))));

/** Rows of folders, and of files without one. The files are sorted by folder. */
function folderRows(session: Session, relative: (uri: string) => string): EditRow[] {
  const files = session.edits?.files ?? [];
  const folderOf = (file: FileEdits): string => (file.risk || file.protected ? "" : folder(relative(file.uri)));
  return files.flatMap((file, index): EditRow[] => {
    const label = folderOf(file);
    if (label === "") return [fileRow(session, file, relative)];
    const before = files[index - 1];
    if (before && folderOf(before) === label) return [];
    const uris = files.filter((other) => folderOf(other) === label).map(({ uri }) => uri);
    return [{ kind: "folder", sessionId: session.id, label, description: countText(uris.length, "file"), uris }];
  });
}

function checkRow(sessionId: string, result: CheckResult): CheckRow {
  const progress = t("{0} of {1} accepted", result.accepted, result.total);
  return {
    kind: "check",
    sessionId,
    result,
    label: capitalized(plainMessage(result.verdict)),
    description: `${progress} · ${plainMessage(result.command)}`,
    tooltip: plainMessage(result.message),
  };
}

/** The row of a file, which is below `parent`, if that is not empty. */
function fileRow(session: Session, file: FileEdits, relative: (uri: string) => string, parent = ""): EditRow {
  const path = relative(file.uri);
  const risk = file.risk && RISKS[file.risk];
  const conflict = file.state === "conflict";
  const deleted = isDeletedByUser(file);
  const kind = file.risk === "deletion" ? "" : kindLabel(file, relative);
  const size = file.binary ? t("binary") : counts(file.additions, file.deletions);
  const refusal = session.refusals.get(file.uri);
  const marks = [
    refusal === undefined ? "" : t("not accepted"),
    errorCount(file.problems.length),
    weakens(file) ? t("weakens tests") : "",
    risk?.mark,
    file.protected ? t("protected") : "",
    file.unread ? t("no check read it") : "",
    conflict ? (deleted ? t("you deleted it") : t("conflict")) : "",
    kind,
    permissionLabel(file),
    size,
  ];
  const lines = [
    [path, kindLabel(file, relative)].filter(Boolean).join(", "),
    file.binary
      ? t("Not text, or text in another encoding. Accept or reject it as a whole.")
      : `${countText(file.hunks.length, "change")}, ${size}`,
    refusal === undefined ? "" : t("Not accepted: {0}", refusal),
    ...weakenedLines(file.weakens),
    risk?.why,
    file.protected ? PROTECTED : "",
    file.unread ? t("No check has read this file, so none says anything about its changes.") : "",
    conflict
      ? deleted
        ? t("You deleted this file after the edit was proposed.")
        : t("You and the agent changed the same lines. Open it to see both.")
      : "",
    ...problemLines(file.problems),
  ];
  const smallest = session.edits?.smallest;
  const isWhole = isDecidedAsWhole(file) && !deleted;
  const mark = isWhole ? markOfChange(smallest, file.uri, null) : markOfFile(smallest, file);
  const needed = isWhole ? neededMark(session.edits?.needed, file.uri, null) : undefined;
  return {
    kind: "file",
    sessionId: session.id,
    file,
    description: [parent === "" ? folder(path) : "", mark?.words, ...marks, needed?.words].filter(Boolean).join(" · "),
    tooltip: [...lines, mark?.sentence, needed?.sentence].filter(Boolean).join("\n"),
  };
}

function kindLabel(file: FileEdits, relative: (uri: string) => string): string {
  switch (file.kind) {
    case "create":
      return t("new");
    case "delete":
      return t("deleted");
    case "rename":
      return t("renamed → {0}", newName(file, relative));
    case "modify":
      return "";
  }
}

/** Returns the proposed permissions in words; empty if they do not change. Only the executable bit can change. */
function permissionLabel(file: FileEdits): string {
  if (file.mode === null) return "";
  return /[1357]/.test(file.mode) ? t("executable") : t("not executable");
}

/** The new name of a renamed file; its whole path if the folder changes. */
export function newName(file: FileEdits, relative: (uri: string) => string): string {
  const [from, to] = [relative(file.uri), relative(file.newUri ?? file.uri)];
  return folder(from) === folder(to) ? (to.split("/").at(-1) ?? to) : to;
}

function hunkRows(sessionId: string, file: FileEdits, edits: Edits | undefined): EditRow[] {
  return file.hunks.map((hunk) => {
    const conflict = hunk.state === "conflict";
    const mark = markOfChange(edits?.smallest, file.uri, hunk.id);
    const needed = neededMark(edits?.needed, file.uri, hunk.id);
    const problems = problemsIn(hunk, file.problems);
    const lines = [
      `${hunkLabel(hunk)}: ${hunkSize(hunk)}`,
      hunk.snippet,
      conflict ? t("You changed these lines too. Open it to see both.") : "",
      mark?.sentence,
      ...weakenedLines(hunk.weakens),
      ...problemLines(problems),
      needed?.sentence,
    ];
    return {
      kind: "hunk",
      sessionId,
      file,
      hunk,
      label: hunkLabel(hunk),
      description: [
        mark?.words,
        errorCount(problems.length),
        weakens(file, hunk) ? t("weakens a test") : "",
        file.unread ? t("no check read it") : "",
        conflict ? t("conflict") : "",
        counts(hunk.newLines, hunk.oldLines),
        needed?.words,
        hunk.snippet,
      ]
        .filter(Boolean)
        .join(" · "),
      tooltip: lines.filter(Boolean).join("\n"),
    };
  });
}

function hunkSize({ newLines, oldLines }: Hunk): string {
  if (oldLines === 0) return t("{0} added", countText(newLines, "line"));
  if (newLines === 0) return t("{0} removed", countText(oldLines, "line"));
  return t("{0} replaced by {1}", countText(oldLines, "line"), newLines);
}

export const counts = (added: number, removed: number): string => `+${added} −${removed}`;
const folder = (path: string): string => path.split("/").slice(0, -1).join("/");

/** Returns where a change or a file is among those of its file and of the sessions; empty if it is the only file. */
export function positionText(sessions: readonly Session[], { sessionId, file, hunk }: Place): string {
  const files = sessions.flatMap(({ id, edits }) => (edits?.files ?? []).map(({ uri }) => `${id} ${uri}`));
  const [fileNumber, fileCount] = [files.indexOf(`${sessionId} ${file.uri}`) + 1, files.length];
  if (!hunk) return fileCount > 1 ? t("File {0} of {1}", fileNumber, fileCount) : "";
  const [number, count] = [file.hunks.findIndex(({ id }) => id === hunk.id) + 1, file.hunks.length];
  return fileCount > 1
    ? t("Change {0} of {1}, file {2} of {3}", number, count, fileNumber, fileCount)
    : t("Change {0} of {1}", number, count);
}

/**
 * Counts how many of the proposed files are left to review, for the view's title and the status bar. Remembers the
 * files that it has counted.
 */
export class ReviewProgress {
  private readonly seen: Set<string>;
  /** How many runs had started when the last file was decided; undefined while files are left. */
  private runsAtEnd: number | undefined;

  /** `saved`: the files that an earlier window counted. `save` saves those of this window. */
  constructor(
    saved: readonly string[],
    private readonly save: (files: readonly string[]) => void,
  ) {
    this.seen = new Set(saved);
  }

  /**
   * Returns the number of files that are left, and of all files in this review, including decided ones. After
   * everything is decided, the proposals of the next run begin a new review, but an undo continues the old one.
   */
  count(sessions: readonly Session[]): { readonly left: number; readonly total: number } {
    const left = sessions.flatMap(({ id, edits }) => (edits?.files ?? []).map(({ uri }) => `${id} ${uri}`));
    const runs = sessions.reduce((sum, { runsStarted }) => sum + runsStarted, 0);
    if (left.length === 0) this.runsAtEnd ??= runs;
    else {
      if (this.runsAtEnd !== undefined && this.runsAtEnd !== runs) this.seen.clear();
      this.runsAtEnd = undefined;
    }
    const isNew = left.some((file) => !this.seen.has(file));
    for (const file of left) this.seen.add(file);
    if (isNew) this.save([...this.seen]);
    return { left: left.length, total: this.seen.size };
  }

  /** The text for the view's title; empty if nothing is left. */
  describe(sessions: readonly Session[]): string {
    const { left, total } = this.count(sessions);
    if (left === 0) return "";
    return left < total ? t("{0} of {1} left", left, countText(total, "file")) : countText(left, "file");
  }
}

/** The number of files with undecided changes. A file counts once for each session that changes it. */
export function pendingFiles(sessions: readonly Session[]): number {
  return sessions.reduce((sum, session) => sum + (session.edits?.files.length ?? 0), 0);
}
