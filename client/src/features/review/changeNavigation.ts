// The locations of the proposed changes in the order of the tree, the next change after a location, and the change at a
// line. Pure.

import type { ChangeInFile, Target } from "../../wire/protocol";
import type { FileEdits, Hunk, Title } from "../../wire/protocolStates";
import type { Session } from "../../state/session";

export interface ChangeLocation {
  readonly sessionId: string;
  readonly file: FileEdits;
  /** Undefined if the file is decided as a whole or has no hunks. */
  readonly hunk: Hunk | undefined;
  /** The line of the proposed text at which the change is shown, from 1. */
  readonly line: number;
}

/** The user's position in a diff. */
export interface CursorPosition {
  readonly sessionId: string;
  readonly uri: string;
  /** In the whole proposed text, from 1. */
  readonly line: number;
}

/** Whether the user deleted a file that the agent wants to change. */
export const isDeletedByUser = (file: FileEdits): boolean =>
  file.hunks.some(({ conflict }) => conflict?.current === null);

/**
 * Whether a file is decided as a whole, because it is created, deleted, renamed or binary, its permissions change, or
 * the user deleted it.
 */
export const isDecidedAsWhole = (file: FileEdits): boolean =>
  file.kind !== "modify" || file.binary || file.mode !== null || isDeletedByUser(file);

/** Whether all changes to a file are in conflict. */
export const isAllInConflict = (file: FileEdits): boolean =>
  file.state === "conflict" && (isDecidedAsWhole(file) || file.hunks.every(({ state }) => state === "conflict"));

/**
 * Returns the changes of these sessions, in order: one for each hunk, and one for each file that is decided as a whole.
 */
export function changeLocations(sessions: readonly Session[]): ChangeLocation[] {
  return sessions.flatMap(({ id, edits }) =>
    (edits?.files ?? []).flatMap((file): ChangeLocation[] => {
      const [first] = file.hunks;
      if (isDecidedAsWhole(file) || !first)
        return [{ sessionId: id, file, hunk: undefined, line: first ? firstLine(first) : 1 }];
      return file.hunks.map((hunk) => ({ sessionId: id, file, hunk, line: firstLine(hunk) }));
    }),
  );
}

/**
 * Returns the change after or before the cursor, wrapping around at the ends. If the cursor is in no file with changes,
 * returns the first or the last change of all; undefined if there is none.
 */
export function adjacentChange(
  all: readonly ChangeLocation[],
  cursor: CursorPosition | undefined,
  direction: "next" | "previous",
): ChangeLocation | undefined {
  const here = all.filter(({ sessionId, file }) => sessionId === cursor?.sessionId && file.uri === cursor.uri);
  const [first] = here;
  const last = here.at(-1);
  if (!cursor || !first || !last) return direction === "next" ? all[0] : all.at(-1);
  if (direction === "next") return here.find(({ line }) => line > cursor.line) ?? all[all.indexOf(last) + 1] ?? all[0];
  return here.findLast(({ line }) => line < cursor.line) ?? all[all.indexOf(first) - 1] ?? all.at(-1);
}

/**
 * Returns the change to show after a decision: of the changes in `now`, the first one after the last decided one,
 * wrapping around. Undefined if a decided change is still there, or if no change is left. `before` and `now` are the
 * changes before and after the decision.
 */
export function nextAfterDecision(
  before: readonly ChangeLocation[],
  now: readonly ChangeLocation[],
  decided: (location: ChangeLocation) => boolean,
): ChangeLocation | undefined {
  const find = (location: ChangeLocation): ChangeLocation | undefined =>
    now.find((other) => isSameChange(other, location));
  if (before.some((location) => decided(location) && find(location))) return undefined;
  const end = before.findLastIndex(decided) + 1;
  for (const location of [...before.slice(end), ...before.slice(0, end)]) {
    const left = find(location);
    if (left) return left;
  }
  return now[0];
}

/** Whether a decision on a target includes a change. */
export function isInTarget(sessionId: string, target: Target, location: ChangeLocation): boolean {
  if (location.sessionId !== sessionId) return false;
  if ("item" in target)
    return location.hunk ? location.hunk.itemId === target.item : location.file.itemIds.includes(target.item);
  if ("all" in target) return true;
  if ("weakenedTests" in target) return weakens(location.file, location.hunk);
  if ("changes" in target)
    return target.changes.some(
      ({ uri, hunk }) => uri === location.file.uri && (hunk === null || !location.hunk || hunk === location.hunk.id),
    );
  return (
    target.uri === location.file.uri && (!("hunk" in target) || !location.hunk || target.hunk === location.hunk.id)
  );
}

/** Whether a change weakens tests, or, without one, the file or any of its changes (docs/plan.md, P22). */
export const weakens = (file: FileEdits, hunk?: Hunk): boolean => reasonsOf(file, hunk).length > 0;

/** Why a change weakens tests, or, without one, the file and all of its changes. */
export const reasonsOf = (file: FileEdits, hunk?: Hunk): readonly Title[] =>
  hunk ? hunk.weakens : [...file.weakens, ...file.hunks.flatMap((one) => one.weakens)];

/** Whether two locations belong to the same change, even if it has moved. */
export const isSameChange = (one: ChangeLocation, other: ChangeLocation): boolean =>
  one.sessionId === other.sessionId && one.file.uri === other.file.uri && one.hunk?.id === other.hunk?.id;

/** Returns the hunk at a line of one side, from 1; undefined if there is none. */
export function hunkAt(file: FileEdits, side: "base" | "proposed", line: number): Hunk | undefined {
  return file.hunks.find((hunk) => {
    const [start, lines] = side === "base" ? [hunk.oldStart, hunk.oldLines] : [hunk.newStart, hunk.newLines];
    // if this side has no line of the hunk, the lines before and after the gap belong to it
    return lines === 0 ? line === start || line === start + 1 : line >= start && line < start + lines;
  });
}

/**
 * Returns a file with only the hunks of one plan item. Their positions are those in the text that contains no other
 * hunks (`?item=ID`, docs/protocol.md).
 */
export function editsOfStep(file: FileEdits, item: string): FileEdits {
  let shift = 0;
  const hunks = file.hunks
    .filter(({ itemId }) => itemId === item)
    .map((hunk) => {
      // for an empty side, a unified diff gives the line before
      const newStart = hunk.oldStart + shift - (hunk.oldLines > 0 ? 1 : 0) + (hunk.newLines > 0 ? 1 : 0);
      shift += hunk.newLines - hunk.oldLines;
      return { ...hunk, newStart };
    });
  return { ...file, hunks };
}

/**
 * Returns the target of a decision on a file in a diff: the whole file, or the hunks of the plan item if the diff leaves
 * out others. Undefined if the item has no hunks.
 */
export function shownTarget(file: FileEdits, item: string | undefined): Target | undefined {
  const { uri } = file;
  if (item === undefined || isDecidedAsWhole(file)) return { uri };
  const { hunks } = editsOfStep(file, item);
  // `itemIds` does not tell whether all hunks are shown, because some hunks belong to no item
  if (hunks.length > 0 && hunks.length === file.hunks.length) return { uri };
  return hunks.length > 0 ? { changes: hunks.map(({ id }) => ({ uri, hunk: id })) } : undefined;
}

/** Converts a line of one step's text to about the same line of the whole proposed text. */
export function lineInFullText(file: FileEdits, item: string, line: number): number {
  const before = editsOfStep(file, item).hunks.findLast(({ newStart }) => newStart <= line);
  const same = before && file.hunks.find(({ id }) => id === before.id);
  return same ? line - before.newStart + same.newStart : line;
}

/**
 * Converts a line of the base text to the line of the whole proposed text next to it. For a line that a hunk replaces or
 * removes, returns the hunk's line.
 */
export function lineOfBaseInFullText(file: FileEdits, line: number): number {
  const before = file.hunks.findLast(({ oldStart, oldLines }) => (oldLines === 0 ? oldStart < line : oldStart <= line));
  if (!before) return line;
  if (line < before.oldStart + before.oldLines) return firstLine(before);
  // for an empty side, a unified diff gives the line before
  const [oldEnd, newEnd] = [
    before.oldStart + Math.max(before.oldLines, 1),
    before.newStart + Math.max(before.newLines, 1),
  ];
  return line - oldEnd + newEnd;
}

/**
 * The line of the proposed text, from 1, at which a hunk is shown: its first line, or the line before if it only
 * removes lines.
 */
export const firstLine = (hunk: Hunk): number => Math.max(1, hunk.newStart);

/** Returns the change at a line of the user's file, from 0; undefined if there is none. */
export function changeAt(changes: readonly ChangeInFile[], line: number): ChangeInFile | undefined {
  return changes.find((change) =>
    change.removed > 0
      ? line >= change.line && line < change.line + change.removed
      : line === change.line - 1 || line === change.line,
  );
}

/** The line of a change at which the cursor is placed: the first that it removes, or the one before an insertion. */
export const cursorLine = ({ line, removed }: ChangeInFile): number => (removed > 0 ? line : Math.max(0, line - 1));
