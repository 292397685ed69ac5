// Commands on the rows of a tree.

export type Commands = Record<string, (...given: never[]) => unknown>;

/**
 * The commands, each of which does nothing but call `gone` where its row is no more: VS Code forgets the rows of a list that is
 * drawn anew, and hands over `undefined` for one that was clicked in that moment. Without any argument a command is not about a row.
 */
export function onRows(commands: Commands, gone: () => unknown): Commands {
  const isGone = ([row]: readonly unknown[], count: number): boolean => count > 0 && row === undefined;
  const guarded = Object.entries(commands).map(
    ([name, run]) => [name, (...given: never[]) => (isGone(given, given.length) ? gone() : run(...given))] as const,
  );
  return Object.fromEntries(guarded);
}
