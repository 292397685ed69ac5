// The result of checking all sessions together, as rows of a list. Pure.

import { t } from "@vscode/l10n";
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
    { icon: iconOf(check), label: check.command, detail: plainMessage(check.message) },
    ...check.changes.map(changeRow),
  ]);
  return [...conflicts, ...checks];
}

const iconOf = ({ outcome }: CheckedTogether): string =>
  outcome === "passes" ? "pass" : outcome === "flaky" || outcome === "not_run" ? "warning" : "error";

/** The text that tells the user the result: of the only problem, or a summary of several. */
export function togetherText(result: TogetherResult): string {
  const problems = result.checks.filter(({ outcome }) => outcome !== "passes");
  const [problem] = problems;
  return plainMessage(problem && problems.length === 1 ? problem.message : result.message);
}
