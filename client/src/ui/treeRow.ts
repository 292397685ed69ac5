// The rows of a tree as VS Code knows them, and which of them changed. Pure.

import { fingerprint } from "./fingerprint";

/** A row as VS Code knows it. VS Code identifies a row by this object, which stays the same as long as the row exists. */
export class TreeRow<Node> {
  constructor(
    readonly id: string,
    /** What VS Code got last, and so what the user sees. */
    public shown: Node,
  ) {}
}

/** The argument of a command: for a row, what the user sees of it. */
export function shownArgument(argument: unknown): unknown {
  return argument instanceof TreeRow ? argument.shown : argument;
}

/** What a tree shows. */
export interface Tree<Node> {
  /** The rows below `parent`, or the top rows. */
  rows(parent: Node | undefined): Node[];
  /** Unique in the tree. A row with another id is another row. */
  rowId(node: Node): string;
  /** What a row shows and what its commands use. */
  rowContent(node: Node): unknown;
}

/** A row and the rows below it, for comparison. */
export interface ComparableRow<Node> {
  readonly id: string;
  readonly node: Node;
  readonly content: string;
  readonly below: readonly ComparableRow<Node>[];
}

export function comparableRows<Node>(
  tree: Tree<Node>,
  parent?: Node,
  above: readonly ReadonlySet<unknown>[] = [],
): ComparableRow<Node>[] {
  return tree.rows(parent).map((node) => {
    const { text, objects } = fingerprint(tree.rowContent(node), above);
    return { id: tree.rowId(node), node, content: text, below: comparableRows(tree, node, [...above, objects]) };
  });
}

/**
 * The ids of the rows to redraw, each with all rows below it; "all" if a top row was added, removed or moved. VS Code can redraw one row,
 * but adds and removes rows only by requesting all rows below their parent again.
 */
export function changedRows(
  before: readonly ComparableRow<unknown>[],
  after: readonly ComparableRow<unknown>[],
): string[] | "all" {
  const isSame = before.length === after.length && after.every(({ id }, index) => id === before[index]?.id);
  if (!isSame) return "all";
  return after.flatMap((row, index) => {
    const old = before[index];
    if (row.content !== old?.content) return [row.id];
    const below = changedRows(old.below, row.below);
    return below === "all" ? [row.id] : below;
  });
}
