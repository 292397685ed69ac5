// Chooses the result that a message shows when several checks have run. Pure.

import type { CheckResult } from "../../wire/protocolStates";

/**
 * Returns the result that the user should know about, and whether it is a problem: the first failure, or else the first
 * check without a result. If there is none, returns the first proof, or else the last result; undefined without results.
 *
 * A failure that proves the changes, because the check ran without them, is not a problem.
 */
export function resultToShow(
  results: readonly CheckResult[],
): { readonly result: CheckResult; readonly isProblem: boolean } | undefined {
  const problem =
    results.find(({ passed, proves }) => passed === false && !proves) ?? results.find(({ passed }) => passed === null);
  const result = problem ?? results.find(({ proves }) => proves) ?? results.at(-1);
  return result && { result, isProblem: problem !== undefined };
}
