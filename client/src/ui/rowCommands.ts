// Commands of tree rows.

export type Commands = Record<string, (...args: never[]) => unknown>;

/**
 * Makes each command call `onUnknownRow` instead of running if its row is `undefined`. VS Code passes `undefined` for a
 * row that the extension host no longer knows, because the tree was refreshed. A command without arguments is not about
 * a row, and runs.
 */
export function withKnownRow(commands: Commands, onUnknownRow: () => unknown): Commands {
  const isUnknown = (args: readonly unknown[]): boolean => args.length > 0 && args[0] === undefined;
  const checked = Object.entries(commands).map(
    ([name, run]) => [name, (...args: never[]) => (isUnknown(args) ? onUnknownRow() : run(...args))] as const,
  );
  return Object.fromEntries(checked);
}
