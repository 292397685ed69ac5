// What changes are called, and what a check says about each of them. Pure.

import { t } from "@vscode/l10n";
import type { ChangeId, Edits, FileEdits, Hunk, NeededChanges } from "../wire/protocolStates";

/** Returns the lines of a hunk in the proposed text. */
export function hunkLabel(hunk: Hunk): string {
  const [start, lines] = hunk.newLines > 0 ? [hunk.newStart, hunk.newLines] : [hunk.newStart + 1, 0];
  return lines > 1 ? t("Lines {0}–{1}", start, start + lines - 1) : t("Line {0}", start);
}

type Found = NeededChanges | null | undefined;

/** What a row says about a result: a few words, and a sentence. */
export interface NeededMark {
  readonly words: string;
  readonly sentence: string;
}

/**
 * Returns what the checks say about a hunk, or about a file that is decided as a whole (`hunk` is null); undefined if
 * they say nothing (docs/plan.md, P23).
 */
export function neededMark(found: Found, uri: string, hunk: string | null): NeededMark | undefined {
  if (!found) return undefined;
  const [only = "", ...others] = found.commands;
  const isOne = others.length === 0;
  if (includes(found.notNeeded, uri, hunk))
    return isOne
      ? { words: t("passes without it"), sentence: t("{0} passes without this change alone.", only) }
      : { words: t("checks pass without it"), sentence: t("The checks pass without this change alone.") };
  if (includes(found.unread, uri, hunk))
    return isOne
      ? { words: t("not read by the check"), sentence: t("{0} does not read this file.", only) }
      : { words: t("not read by any check"), sentence: t("No check reads this file.") };
  if (!includes(found.needed, uri, hunk)) return undefined;
  return isOne
    ? { words: t("needed by {0}", only), sentence: t("{0} fails without this change.", only) }
    : { words: t("needed by the checks"), sentence: t("The checks fail without this change.") };
}

/** Returns the changes of a step without each of which its tick would stay, in words. */
export function unneededChanges(
  itemId: string,
  edits: Pick<Edits, "files" | "needed"> | undefined,
  relative: (uri: string) => string,
): string[] {
  const { files = [], needed } = edits ?? {};
  if (!needed) return [];
  const unneeded = [...needed.notNeeded, ...needed.unread];
  return files.flatMap((file): string[] => {
    const name = relative(file.uri);
    const own = file.hunks.filter((hunk) => hunk.itemId === itemId && includes(unneeded, file.uri, hunk.id));
    if (own.length > 0) return own.map((hunk) => `${name} (${hunkLabel(hunk)})`);
    return wholeFile(file, itemId, unneeded) ? [name] : [];
  });
}

const wholeFile = ({ uri, itemIds }: FileEdits, itemId: string, changes: readonly ChangeId[]): boolean =>
  itemIds.includes(itemId) && includes(changes, uri, null);

const includes = (changes: readonly ChangeId[], uri: string, hunk: string | null): boolean =>
  changes.some((change) => change.uri === uri && change.hunk === hunk);
