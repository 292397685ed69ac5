// The errors that a proposed text causes, as words for rows and tooltips. Pure.

import { t } from "@vscode/l10n";
import type { Diagnostic, Hunk } from "../wire/protocolStates";
import { countText } from "./format";

const MOST_LINES = 5;

/** Returns the number of errors, such as `2 errors`; empty if there are none. */
export function errorCount(errors: number): string {
  return errors > 0 ? countText(errors, "error") : "";
}

/**
 * Returns a line for each of the first problems, with the first line of its message. If there are more, a last line says
 * how many.
 */
export function problemLines(problems: readonly Diagnostic[]): string[] {
  const lines = problems
    .slice(0, MOST_LINES)
    .map(({ range, message }) => t("Line {0}: {1}", range.start.line + 1, message.trim().split(/[\r\n]/, 1)[0] ?? ""));
  const more = problems.length - lines.length;
  return more > 0 ? [...lines, t("{0} more in the Problems view.", more)] : lines;
}

/** The problems that begin in the new lines of a hunk. */
export function problemsIn({ newStart, newLines }: Hunk, problems: readonly Diagnostic[]): Diagnostic[] {
  return problems.filter(({ range: { start } }) => start.line + 1 >= newStart && start.line + 1 < newStart + newLines);
}
