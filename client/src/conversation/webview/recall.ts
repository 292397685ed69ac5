// Goes through the earlier tasks for the arrow keys. Pure.

/** What the prompt shows: a task's index in the history (-1: the typed text) and text, and what the user had typed. */
export interface Recall {
  readonly index: number;
  readonly shown: string;
  readonly typed: string;
}

/**
 * Returns the next older (`1`) or newer (`-1`) task of the history, which begins with the newest. After the newest
 * comes what the user had typed. Undefined if there is nothing more. `text` is the text of the prompt, and `last` what
 * was returned before, unless the user has typed since.
 */
export function recalled(
  by: 1 | -1,
  text: string,
  history: readonly string[],
  last: Recall | undefined,
): Recall | undefined {
  const typed = last?.typed ?? text;
  const index = (last?.index ?? -1) + by;
  if (index === -1 && last) return { index, shown: typed, typed };
  const shown = history[index];
  return shown === undefined ? undefined : { index, shown, typed };
}
