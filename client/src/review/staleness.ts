// Whether what is proposed now is what the person was shown. Pure.

import { isDecidedAsWhole } from "./changeNavigation";
import type { Edits, FileEdits } from "../protocol";

/**
 * Whether all that is proposed now was shown: what was accepted in one session can make another one's proposals fewer. A hunk's id
 * says what it changes, whereas of a binary file nothing tells whether it is still the same.
 */
export function allWasShown(shown: Edits, now: Edits): boolean {
  const before = new Map(shown.files.map((file) => [file.uri, file]));
  return now.files.every((file) => {
    const seen = before.get(file.uri);
    return seen !== undefined && !file.binary && kindOf(seen) === kindOf(file) && sameHunks(seen, file);
  });
}

const kindOf = ({ kind, newUri, mode, binary }: FileEdits): string => JSON.stringify([kind, newUri, mode, binary]);

function sameHunks(seen: FileEdits, file: FileEdits): boolean {
  const ids = new Set(seen.hunks.map(({ id }) => id));
  return file.hunks.every(({ id }) => ids.has(id)) && (!isDecidedAsWhole(file) || file.hunks.length === ids.size);
}
