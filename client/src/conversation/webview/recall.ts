// Goes through the earlier tasks for the arrow keys. Pure.

/** The task that the prompt shows: its index in the history, its text, and what the user had typed before. */
export interface Recall {
  readonly index: number;
  readonly shown: string;
  readonly typed: string;
}

/**
 * Returns the next older (`1`) or newer (`-1`) task of the history, which begins with the newest. After the newest
 * comes what the user had typed. Undefined if there is nothing.
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
