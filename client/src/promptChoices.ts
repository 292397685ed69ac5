// The rows of the box that asks for a task, and which prompt Enter runs. Pure.

export interface PromptChoice {
  readonly label: string;
  readonly prompt: string;
  /** The text in the box that the row was listed for. */
  readonly typed: string;
  /** Whether Enter runs this row, without a move to it. */
  readonly first: boolean;
  readonly alwaysShow: boolean;
}

/** What was typed, then the earlier tasks. For an empty box Enter runs none of them. */
export function promptChoices(typed: string, earlier: readonly string[]): PromptChoice[] {
  const own = typed.trim() === "" ? [] : [{ label: `$(play) ${typed}`, prompt: typed, typed, first: true, alwaysShow: true }];
  return [
    ...own,
    ...earlier
      .filter((prompt) => prompt !== typed)
      .map((prompt) => ({ label: `$(history) ${prompt.replace(/\s+/g, " ")}`, prompt, typed, first: false, alwaysShow: typed === "" })),
  ];
}

/**
 * The prompt that Enter stands for; undefined runs nothing. VS Code marks a row on its own while the user types on, so a
 * row that was listed for another text than the box has now was not chosen by the user.
 */
export function acceptedPrompt(typed: string, chosen: PromptChoice | undefined): string | undefined {
  const prompt = (chosen?.typed === typed ? chosen.prompt : typed).trim();
  return prompt === "" ? undefined : prompt;
}
