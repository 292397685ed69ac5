// Tasks that an empty conversation offers. Pure.

import { t } from "@vscode/l10n";

const MOST = 3;

const isCode = (file: string): boolean => !/\.(md|rst|txt|json|jsonc|ya?ml|toml|lock|csv|cfg|ini|svg)$/i.test(file);

/** What the user has in front. */
export interface Surroundings {
  /** The mention of the active file, such as `#src/a.ts`. */
  readonly file: string | undefined;
  readonly hasErrors: boolean;
  readonly hasChanges: boolean;
}

/** Returns three tasks, those about what the user has in front first. */
export function exampleTasks({ file, hasErrors, hasChanges }: Surroundings): string[] {
  return [
    ...(hasErrors ? [t("Fix #problems")] : []),
    ...(hasChanges ? [t("Look for mistakes in #changes")] : []),
    ...(file === undefined || !isCode(file) ? [] : [t("Write tests for {0}", file)]),
    ...(file === undefined ? [] : [t("Explain {0}", file)]),
    t("Explain how this project is built and tested"),
    t("Find a bug, prove it with a test, and fix it"),
    t("Add a test for code that has none"),
  ].slice(0, MOST);
}
