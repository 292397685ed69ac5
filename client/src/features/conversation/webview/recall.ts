// Goes through the earlier tasks and messages for the arrow keys. Pure.

/** What the prompt shows after an arrow key. */
export interface Recall {
  /** The task's position in the history; -1: the typed text. */
  readonly index: number;
  /** The text of that task, or the typed text. */
  readonly shown: string;
  /** The text that the user had typed before the first arrow key. */
  readonly typed: string;
}

/**
 * Returns the next older (`1`) or newer (`-1`) task of the history, which begins with the newest task. The text that
 * the user had typed counts as newer than that task. Returns undefined if there is nothing more. `text` is the text of
 * the prompt. `last` is the value that was returned before; undefined if the user has typed since.
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
