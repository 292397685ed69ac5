// What the Proposed Changes view says about the smallest set of changes that a check needs. Pure.

import { t } from "@vscode/l10n";
import { countText } from "../../ui/format";
import type { ChangeId, FileEdits, SmallestSet } from "../../wire/protocolStates";

/** What a row says about a result: a few words, and a sentence. */
export interface Mark {
  readonly words: string;
  readonly sentence: string;
}

type Found = SmallestSet | null | undefined;

/**
 * Returns the mark of a hunk, or of a file that is decided as a whole (`hunk` is null); undefined if the result does
 * not include it.
 */
export function markOfChange(found: Found, uri: string, hunk: string | null): Mark | undefined {
  if (!found) return undefined;
  const text = textsOf(found);
  if (includes(found.notNeeded, uri, hunk)) return text.notNeeded;
  if (!includes(found.needed, uri, hunk)) return undefined;
  return found.outcome === "minimal" ? text.needed : text.maybeNeeded;
}

/** Returns the mark of a file whose hunks are decided one by one; undefined unless the result includes all of them. */
export function markOfFile(found: Found, file: FileEdits): Mark | undefined {
  const marks = file.hunks.flatMap(({ id }) => markOfChange(found, file.uri, id) ?? []);
  const [first] = marks;
  if (!found || !first || marks.length < file.hunks.length) return undefined;
  if (marks.every(({ words }) => words === first.words)) return first;
  const needed = file.hunks.filter(({ id }) => includes(found.needed, file.uri, id)).length;
  const text = textsOf(found);
  return {
    words: text.some(found.outcome === "minimal", needed, String(marks.length)),
    sentence: text.someNot(marks.length - needed),
  };
}

const includes = (changes: readonly ChangeId[], uri: string, hunk: string | null): boolean =>
  changes.some((change) => change.uri === uri && change.hunk === hunk);

/** Returns the text above the rows of the view. */
export function headline(found: SmallestSet): string {
  const text = textsOf(found);
  const [needed, count] = [found.needed.length, found.needed.length + found.notNeeded.length];
  const all = countText(count, "change");
  return needed === 0 ? text.none(all) : text.some(found.outcome === "minimal", needed, all);
}

/** Returns the texts for a result: those for one check, which name its command, or those for several checks. */
const textsOf = ({ commands: [only = "", ...others] }: SmallestSet) =>
  others.length > 0 ? SEVERAL_CHECKS : oneCheck(only);

const oneCheck = (command: string) => ({
  notNeeded: {
    words: t("not needed by the check"),
    sentence: t("{0} passes without this change. Review it carefully.", command),
  },
  needed: { words: t("needed by the check"), sentence: t("{0} fails without this change.", command) },
  maybeNeeded: {
    words: t("may be needed by the check"),
    sentence: t("{0} passes with this change and others.", command),
  },
  none: (all: string) => t("{0}, not needed by the check", all),
  some: (isSure: boolean, needed: number, all: string) =>
    isSure ? t("{0} of {1} needed by the check", needed, all) : t("{0} of {1} may be needed by the check", needed, all),
  someNot: (count: number) => t("{0} passes without {1} of these changes. Review them carefully.", command, count),
});

const SEVERAL_CHECKS = {
  notNeeded: {
    words: t("not needed by the checks"),
    sentence: t("The checks pass without this change. Review it carefully."),
  },
  needed: { words: t("needed by the checks"), sentence: t("The checks fail without this change.") },
  maybeNeeded: { words: t("may be needed by the checks"), sentence: t("The checks pass with this change and others.") },
  none: (all: string) => t("{0}, not needed by the checks", all),
  some: (isSure: boolean, needed: number, all: string) =>
    isSure
      ? t("{0} of {1} needed by the checks", needed, all)
      : t("{0} of {1} may be needed by the checks", needed, all),
  someNot: (count: number) => t("The checks pass without {0} of these changes. Review them carefully.", count),
};
