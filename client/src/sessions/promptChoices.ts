// The rows of the box that asks for a task, and which prompt Enter runs. Pure.

export interface PromptChoice {
  readonly label: string;
  readonly prompt: string;
  /** The text in the box that the row was listed for. */
  readonly typed: string;
}

/**
 * For an empty box a heading (the row without a prompt) and the earlier tasks, else only what was typed.
 *
 * VS Code marks a row on its own while the user types, and reports the row of Enter by its position, in a list that may
 * be a new one by then. So no earlier task may have a position that a row has while something is typed.
 */
export function promptChoices(typed: string, earlier: readonly string[]): PromptChoice[] {
  if (typed.trim() !== "") return [{ label: `$(play) ${typed}`, prompt: typed, typed }];
  const rows = earlier.map((prompt) => ({ label: `$(history) ${prompt.replace(/\s+/g, " ")}`, prompt, typed }));
  return rows.length > 0 ? [{ label: "Earlier tasks", prompt: "", typed }, ...rows] : [];
}

/** The prompt that Enter stands for; undefined runs nothing. A row that was listed for another text does not count. */
export function acceptedPrompt(typed: string, chosen: PromptChoice | undefined): string | undefined {
  const prompt = (chosen?.typed === typed ? chosen.prompt : typed).trim();
  return prompt === "" ? undefined : prompt;
}
