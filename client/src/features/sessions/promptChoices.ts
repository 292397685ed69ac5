// The rows of the box that asks for a task, and what Enter does: run a prompt, or complete a mention or the name of a
// skill. Pure.

import { t } from "@vscode/l10n";
import { applyCompletion, type Completion } from "../../context/completions";

export interface PromptChoice {
  readonly icon?: string;
  readonly label: string;
  readonly description?: string;
  /** The task that the row runs; empty for the heading. With `completed`, the row runs nothing, and this is `typed`. */
  readonly prompt: string;
  /** The text of the box for which the row was listed. */
  readonly typed: string;
  /** The text of the box after Enter, if the row completes a mention. */
  readonly completed?: string;
}

const ICONS: Record<Completion["kind"], string> = {
  keyword: "symbol-keyword",
  file: "file",
  folder: "folder",
  resource: "server",
  skill: "lightbulb",
};

/**
 * Returns the rows of the box. An empty box lists the earlier tasks below a heading. Otherwise, the rows are the typed
 * text, which Enter runs, and the completions of a mention at its end. The text comes first if the mention is complete
 * or nothing completes it, else last.
 *
 * When the user presses Enter, VS Code reports the position of the row that it selected while the user typed. The list
 * may have changed since. Therefore the first position never has an earlier task: it has the heading or, unless a
 * mention is unfinished, the typed text.
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
        icon: ICONS[completion.kind],
        label: completion.mention,
        description: completion.description,
        prompt: typed,
        typed,
        completed: applyCompletion(typed, completion),
      }));
    const isComplete = rows.length === 0 || completions.some(({ isExact }) => isExact);
    // VS Code moves rows that match the typed text to the top; this row must not match while a mention is unfinished
    const run = isComplete
      ? { icon: "play", label: typed, prompt: typed, typed }
      : { icon: "play", label: t("Run"), description: typed, prompt: typed, typed };
    return isComplete ? [run, ...rows] : [...rows, run];
  }
  const rows = earlier.map((prompt) => ({ icon: "history", label: prompt, prompt, typed }));
  return rows.length > 0 ? [{ label: t("Earlier tasks"), prompt: "", typed }, ...rows] : [];
}

/**
 * Returns the prompt that Enter runs: that of the chosen row or, if no row is chosen or the row was listed for another
 * text, the typed text. Undefined if it is empty.
 */
export function acceptedPrompt(typed: string, chosen: PromptChoice | undefined): string | undefined {
  const prompt = (chosen?.typed === typed ? chosen.prompt : typed).trim();
  return prompt === "" ? undefined : prompt;
}

/**
 * Returns the completed text that Enter puts into the box; undefined if Enter completes nothing.
 *
 * `rows` are the rows for the text in the box. If no row is chosen, or `chosen` was listed for another text, the first
 * of `rows` counts.
 */
export function completedText(
  typed: string,
  chosen: PromptChoice | undefined,
  rows: readonly PromptChoice[],
): string | undefined {
  return (chosen?.typed === typed ? chosen : rows[0])?.completed;
}
