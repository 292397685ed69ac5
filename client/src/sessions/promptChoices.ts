// The rows of the box that asks for a task, and the prompt that Enter runs. Pure.

export interface PromptChoice {
  readonly label: string;
  readonly prompt: string;
  /** The text of the box for which the row was listed. */
  readonly typed: string;
}

/**
 * The rows: for an empty box a heading (the row without a prompt) and the earlier tasks, else only the typed text.
 *
 * VS Code selects a row while the user types, and reports the row of Enter by its position in a list that may have changed since.
 * So no earlier task may have the position of the row with the typed text.
 */
export function promptChoices(typed: string, earlier: readonly string[]): PromptChoice[] {
  if (typed.trim() !== "") return [{ label: `$(play) ${typed}`, prompt: typed, typed }];
  const rows = earlier.map((prompt) => ({ label: `$(history) ${prompt.replace(/\s+/g, " ")}`, prompt, typed }));
  return rows.length > 0 ? [{ label: "Earlier tasks", prompt: "", typed }, ...rows] : [];
}

/** The prompt that Enter runs, or undefined. Ignores a row that was listed for another text. */
export function acceptedPrompt(typed: string, chosen: PromptChoice | undefined): string | undefined {
  const prompt = (chosen?.typed === typed ? chosen.prompt : typed).trim();
  return prompt === "" ? undefined : prompt;
}
