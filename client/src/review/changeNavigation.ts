// Where the proposed changes are, in the order of the tree: for going from one to the next, and from a line to its change.
// Pure.

import type { FileEdits, Hunk, Target } from "../protocol";
import type { Session } from "../session";

export interface ChangeLocation {
  readonly sessionId: string;
  readonly file: FileEdits;
  /** Undefined where a file is decided on as a whole. */
  readonly hunk: Hunk | undefined;
  /** In the proposed text, from 1. */
  readonly line: number;
}

/** Where the person is. */
export interface CursorPosition {
  readonly sessionId: string;
  readonly uri: string;
  readonly line: number;
}

/** Whether a file is created, deleted or renamed, and so decided on as a whole. */
export const isDecidedAsWhole = (file: FileEdits): boolean =>
  file.kind !== "modify" || file.binary || file.mode !== null;

/** Whether nothing of a file can be accepted without choosing a side. */
export const isAllInConflict = (file: FileEdits): boolean =>
  file.state === "conflict" && (isDecidedAsWhole(file) || file.hunks.every(({ state }) => state === "conflict"));

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

/** The place after the cursor or before it; from the last on to the first, and the other way round. */
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
 * Where to go on after a decision: the first place after the decided ones that is still there, through all files and around.
 * Undefined where one of the decided places is still there, or nothing is.
 */
export function nextAfterDecision(
  before: readonly ChangeLocation[],
  now: readonly ChangeLocation[],
  decided: (place: ChangeLocation) => boolean,
): ChangeLocation | undefined {
  const left = (place: ChangeLocation): ChangeLocation | undefined => now.find((other) => isSameChange(other, place));
  if (before.some((place) => decided(place) && left(place))) return undefined;
  const end = before.findLastIndex(decided) + 1;
  for (const place of [...before.slice(end), ...before.slice(0, end)]) {
    const same = left(place);
    if (same) return same;
  }
  return now[0];
}

/** Whether a target takes in a place. */
export function isInTarget(sessionId: string, target: Target, place: ChangeLocation): boolean {
  if (place.sessionId !== sessionId) return false;
  if ("item" in target)
    return place.hunk ? place.hunk.itemId === target.item : place.file.itemIds.includes(target.item);
  if ("all" in target) return true;
  return target.uri === place.file.uri && (!("hunk" in target) || !place.hunk || target.hunk === place.hunk.id);
}

/** Whether two places are of the same change, wherever it is now. */
export const isSameChange = (one: ChangeLocation, other: ChangeLocation): boolean =>
  one.sessionId === other.sessionId && one.file.uri === other.file.uri && one.hunk?.id === other.hunk?.id;

/** The change that a line of one side belongs to. */
export function hunkAt(file: FileEdits, side: "base" | "proposed", line: number): Hunk | undefined {
  return file.hunks.find((hunk) => {
    const [start, lines] = side === "base" ? [hunk.oldStart, hunk.oldLines] : [hunk.newStart, hunk.newLines];
    // where a side has no line of the change, the lines around the gap stand for it
    return lines === 0 ? line === start || line === start + 1 : line >= start && line < start + lines;
  });
}

/** A file's changes of one plan item, as they stand in the text that only they make of it (`?item=ID`, docs/protocol.md). */
export function editsOfStep(file: FileEdits, item: string): FileEdits {
  let shift = 0;
  const hunks = file.hunks
    .filter(({ itemId }) => itemId === item)
    .map((hunk) => {
      // a unified diff names the line before where a side is empty
      const newStart = hunk.oldStart + shift - (hunk.oldLines > 0 ? 1 : 0) + (hunk.newLines > 0 ? 1 : 0);
      shift += hunk.newLines - hunk.oldLines;
      return { ...hunk, newStart };
    });
  return { ...file, hunks };
}

/** The line of the whole proposed text that a line of one step's text is, or about: the step's changes keep their order. */
export function lineInFullText(file: FileEdits, item: string, line: number): number {
  const before = editsOfStep(file, item).hunks.findLast(({ newStart }) => newStart <= line);
  const same = before && file.hunks.find(({ id }) => id === before.id);
  return same ? line - before.newStart + same.newStart : line;
}

/** The line of the proposed text at which a change is shown, from 1. */
export const firstLine = (hunk: Hunk): number => Math.max(1, hunk.newStart);
