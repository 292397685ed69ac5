// Going through the earlier tasks with the arrow keys. Pure.

/** What is recalled: its place in the history, the text, and what was typed before. */
export interface Recall {
  readonly index: number;
  readonly shown: string;
  readonly typed: string;
}

/** The next (`1`) or previous (`-1`) of the earlier tasks, newest first; undefined if there is none. */
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
