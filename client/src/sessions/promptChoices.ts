// The rows of the box that asks for a task, and what Enter does: run a prompt, or complete a mention. Pure.

import { t } from "@vscode/l10n";
import { applyCompletion, type Completion } from "../context/completions";

export interface PromptChoice {
  readonly label: string;
  readonly description?: string;
  readonly prompt: string;
  /** The text of the box for which the row was listed. */
  readonly typed: string;
  /** The text of the box after Enter, if the row completes a mention. */
  readonly completed?: string;
}

const ICONS: Record<Completion["kind"], string> = { keyword: "symbol-keyword", file: "file", folder: "folder" };

/**
 * The rows: for an empty box a heading (the row without a prompt) and the earlier tasks, else the typed text, which follows the
 * completions of a mention at its end unless the mention is complete.
 *
 * VS Code selects a row while the user types, and reports the row of Enter by its position in a list that may have changed since.
 * So no earlier task may have the position of the row with the typed text.
 */
export function promptChoices(
  typed: string,
  earlier: readonly string[],
  completions: readonly Completion[] = [],
): PromptChoice[] {
  if (typed.trim() !== "") {
    const rows = completions
      .filter(({ isExact }) => !isExact)
      .map((completion) => ({
        label: `$(${ICONS[completion.kind]}) ${completion.mention}`,
        description: completion.description,
        prompt: typed,
        typed,
        completed: applyCompletion(typed, completion),
      }));
    const isComplete = rows.length === 0 || completions.some(({ isExact }) => isExact);
    // VS Code moves rows that match the text in the box to the top, so this one must not while a mention is half typed
    const run = isComplete
      ? { label: `$(play) ${typed}`, prompt: typed, typed }
      : { label: t("$(play) Run"), description: typed, prompt: typed, typed };
    return isComplete ? [run, ...rows] : [...rows, run];
  }
  const rows = earlier.map((prompt) => ({ label: `$(history) ${prompt.replace(/\s+/g, " ")}`, prompt, typed }));
  return rows.length > 0 ? [{ label: t("Earlier tasks"), prompt: "", typed }, ...rows] : [];
}

/** The prompt that Enter runs, or undefined. Ignores a row that was listed for another text. */
export function acceptedPrompt(typed: string, chosen: PromptChoice | undefined): string | undefined {
  const prompt = (chosen?.typed === typed ? chosen.prompt : typed).trim();
  return prompt === "" ? undefined : prompt;
}

/**
 * The text that Enter puts into the box instead of running it, or undefined.
 *
 * If the row was listed for another text, the first of the rows counts: `rows` are those for the text in the box.
 */
export function completedText(
  typed: string,
  chosen: PromptChoice | undefined,
  rows: readonly PromptChoice[],
): string | undefined {
  return (chosen?.typed === typed ? chosen : rows[0])?.completed;
}
