// What the Proposed Changes view says about the smallest set of changes that a check needs. Pure.

import { plural } from "../ui/format";
import { escapeInvisible } from "../ui/text";
import type { Session } from "../session";
import type { Store } from "../state";
import type { ChangeId, FileEdits, SmallestSet } from "../protocol";

/** What a row says about a result: a few words, and a sentence. */
export interface Mark {
  readonly words: string;
  readonly sentence: string;
}

type Found = SmallestSet | null | undefined;

/** The mark of a hunk, or of a file that is decided as a whole (`hunk` null). */
export function markOfChange(found: Found, uri: string, hunk: string | null): Mark | undefined {
  if (!found) return undefined;
  const { checks, commands, fail, pass } = wording(found);
  if (includes(found.notNeeded, uri, hunk))
    return { words: `not needed by ${checks}`, sentence: `${commands} ${pass} without this change. Look at it twice.` };
  if (!includes(found.needed, uri, hunk)) return undefined;
  if (found.outcome === "minimal")
    return { words: `needed by ${checks}`, sentence: `${commands} ${fail} without this change.` };
  return { words: `may be needed by ${checks}`, sentence: `${commands} ${pass} with this change and others.` };
}

/** The mark of a file whose hunks are decided one by one, if the result is about all of them. */
export function markOfFile(found: Found, file: FileEdits): Mark | undefined {
  const marks = file.hunks.flatMap(({ id }) => markOfChange(found, file.uri, id) ?? []);
  const [first] = marks;
  if (!found || !first || marks.length < file.hunks.length) return undefined;
  if (marks.every(({ words }) => words === first.words)) return first;
  const needed = file.hunks.filter(({ id }) => includes(found.needed, file.uri, id)).length;
  const { checks, commands, pass } = wording(found);
  const verb = found.outcome === "minimal" ? "" : "may be ";
  return {
    words: `${needed} of ${marks.length} ${verb}needed by ${checks}`,
    sentence: `${commands} ${pass} without ${marks.length - needed} of these changes. Look at them twice.`,
  };
}

const includes = (changes: readonly ChangeId[], uri: string, hunk: string | null): boolean =>
  changes.some((change) => change.uri === uri && change.hunk === hunk);

/** The session whose set the user can accept. */
export function sessionWithSet(store: Store): Session | undefined {
  return store.reviewable.find(({ edits }) => (edits?.smallest?.needed.length ?? 0) > 0);
}

/** What the view says above the rows. */
export function headline(found: SmallestSet): string {
  const { checks } = wording(found);
  const [needed, all] = [found.needed.length, found.needed.length + found.notNeeded.length];
  if (needed === 0) return `${plural(all, "change")}, not needed by ${checks}`;
  return `${needed} of ${plural(all, "change")} ${found.outcome === "minimal" ? "" : "may be "}needed by ${checks}`;
}

/** A message of the server as plain text for a notification or a view. */
export const plainMessage = (message: string): string => escapeInvisible(message).replaceAll("`", "");

function wording({ commands }: SmallestSet): { checks: string; commands: string; fail: string; pass: string } {
  const [only = "", another] = commands;
  return another === undefined
    ? { checks: "the check", commands: escapeInvisible(only), fail: "fails", pass: "passes" }
    : { checks: "the checks", commands: "The checks", fail: "fail", pass: "pass" };
}
