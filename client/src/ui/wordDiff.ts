// Compares two sides of a change by word. Pure.

import { diffWordsWithSpace } from "diff";

/** A part of a line, and whether the other side lacks it. */
export interface Part {
  readonly text: string;
  readonly isChanged: boolean;
}

/** Changes with more characters are compared by line only, because a comparison by word would take long. */
const MAX_COMPARED = 10_000;
/** If less of the text than this is the same, marked words would only be confusing. */
const MIN_SAME = 0.5;

/** Returns the lines of both sides in parts. */
export function comparedWords(removed: readonly string[], added: readonly string[]): [Part[][], Part[][]] {
  const [before, after] = [removed.join("\n"), added.join("\n")];
  const whole = (lines: readonly string[]): Part[][] => lines.map((text) => [{ text, isChanged: false }]);
  if (removed.length === 0 || added.length === 0 || before.length + after.length > MAX_COMPARED)
    return [whole(removed), whole(added)];
  const parts = diffWordsWithSpace(before, after);
  const same = parts.filter((part) => !part.added && !part.removed).reduce((sum, { value }) => sum + value.length, 0);
  if (2 * same < MIN_SAME * (before.length + after.length)) return [whole(removed), whole(added)];
  return [
    inLines(parts.filter((part) => !part.added).map(({ value, removed: isChanged }) => ({ text: value, isChanged }))),
    inLines(parts.filter((part) => !part.removed).map(({ value, added: isChanged }) => ({ text: value, isChanged }))),
  ];
}

function inLines(parts: readonly Part[]): Part[][] {
  const lines: Part[][] = [[]];
  for (const { text, isChanged } of parts) {
    for (const [index, piece] of text.split("\n").entries()) {
      if (index > 0) lines.push([]);
      if (piece !== "") lines.at(-1)?.push({ text: piece, isChanged });
    }
  }
  return lines;
}
