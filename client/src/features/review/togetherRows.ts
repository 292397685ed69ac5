// The result of checking all sessions together, as rows of a list. Pure.

import { t } from "@vscode/l10n";
import { oneOrMany } from "../../ui/format";
import { plainMessage } from "../../ui/text";
import type { CheckedTogether, SessionChange, TogetherResult } from "../../wire/protocolStates";

export interface TogetherRow {
  readonly icon?: string;
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
  readonly isHeading?: boolean;
  /** The change that the row opens. */
  readonly change?: SessionChange;
}

/** The rows: each conflict with its two sides, then each check with the changes that make it fail. */
export function togetherRows(result: TogetherResult): TogetherRow[] {
  const titles = new Map(result.sessions.map(({ sessionId, title }) => [sessionId, title || t("New session")]));
  const changeRow = (change: SessionChange): TogetherRow => ({
    icon: "diff-single",
    label: change.name,
    description: titles.get(change.sessionId) ?? "",
    change,
  });
  const conflicts = result.conflicts.flatMap(({ sides }) => [
    { label: t("Conflict"), isHeading: true },
    ...sides.map(changeRow),
  ]);
  const checks = result.checks.flatMap((check) => [
    { label: "", isHeading: true },
    { icon: iconOf(check), label: check.command, description: wordsOf(check) },
    ...check.changes.map(changeRow),
  ]);
  return [...conflicts, ...checks];
}

/** The result of a check in a few words; its message says more. */
function wordsOf({ outcome, changes }: CheckedTogether): string {
  switch (outcome) {
    case "passes":
      return t("passes");
    case "alone":
      return t("fails with one session alone");
    case "without":
      return t("fails without any changes too");
    case "minimal":
      return oneOrMany(changes.length, t("fails with this change"), t("fails with these {0} together", changes.length));
    case "limit":
      return t("fails, and not all sets could be tried");
    case "flaky":
      return t("failed and passed with the same changes");
    case "not_run":
      return t("did not run");
  }
}

const iconOf = ({ outcome }: CheckedTogether): string =>
  outcome === "passes" ? "pass" : outcome === "flaky" || outcome === "not_run" ? "warning" : "error";

/** The text that tells the user the result: of the only problem, or a summary of several. */
export function togetherText(result: TogetherResult): string {
  const problems = result.checks.filter(({ outcome }) => outcome !== "passes");
  const [problem] = problems;
  return plainMessage(problem && problems.length === 1 ? problem.message : result.message);
}
