// Ranges of lines, and their names in words. Pure.

import { t } from "@vscode/l10n";
import type { Range } from "../wire/protocolStates";

/** A range of lines, counted from 0. `end` is the last line. */
export interface LineRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the lines of a range of text. If a range of several lines ends at the start of a line, that line is not
 * included. The server applies the same rule.
 */
export function lineRangeOf({ start, end }: Range): LineRange {
  return { start: start.line, end: end.character === 0 && end.line > start.line ? end.line - 1 : end.line };
}

/** Returns the lines in words, in the user's language: `line 4`, `lines 4 to 6, line 9`. */
export function linesLabel(ranges: readonly LineRange[]): string {
  const parts = mergeRanges(ranges).map(({ start, end }) =>
    start === end ? t("line {0}", start + 1) : t("lines {0} to {1}", start + 1, end + 1),
  );
  return parts.join(", ");
}

/** Returns cells of a notebook in words, in the user's language: `cell 4`, `cells 4 to 6`. `end` is after the last cell. */
export function cellsLabel({ start, end }: { start: number; end: number }): string {
  return end - start === 1 ? t("cell {0}", end) : t("cells {0} to {1}", start + 1, end);
}

/** Sorts the ranges by position, and merges those that share a line. Several cursors can select such ranges. */
export function mergeRanges(ranges: readonly LineRange[]): LineRange[] {
  const found: LineRange[] = [];
  for (const range of [...ranges].sort((one, other) => one.start - other.start)) {
    const last = found.at(-1);
    if (last && range.start <= last.end)
      found[found.length - 1] = { start: last.start, end: Math.max(last.end, range.end) };
    else found.push(range);
  }
  return found;
}
