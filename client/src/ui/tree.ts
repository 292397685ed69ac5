// The base of the tree views, which are drawn from the store. While VS Code redraws a row, it loses a click on it, and it does not know
// the rows below. So only the rows are refreshed that changed in what they show or do.

import * as vscode from "vscode";
import { throttled } from "./throttle";
import { RefreshGuard } from "./refreshGuard";
import { changedRows, comparableRows, TreeRow, type ComparableRow, type Tree } from "./treeRow";
import type { Change } from "../session";
import type { Store } from "../state";
import type { Row } from "./row";

export abstract class StoreTree<Node> implements Tree<Node>, vscode.TreeDataProvider<TreeRow<Node>>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<TreeRow<Node>[] | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  protected readonly view: vscode.TreeView<TreeRow<Node>>;
  private readonly guard = new RefreshGuard(
    () => {
      this.changed.fire(undefined);
    },
    () => this.view.visible,
    () => performance.now(),
  );
  private readonly update = throttled(() => {
    this.compare();
    // after the refresh: VS Code delays a refresh that follows a change of the view's message
    this.updateHeader();
  });
  /** The rows at the last comparison. */
  private drawn: ComparableRow<Node>[] = [];
  /** All rows at the last comparison or request, by id. */
  private readonly latest = new Map<string, Node>();
  /** The rows that VS Code has requested, by id. */
  private readonly known = new Map<string, TreeRow<Node>>();
  /** The rows below which VS Code shows rows. */
  private readonly expanded = new Set<string>();
  private readonly disposables: { dispose(): unknown }[];

  protected constructor(
    id: string,
    store: Store,
    isRelevant: (change: Change) => boolean,
    dragAndDropController?: vscode.TreeDragAndDropController<TreeRow<Node>>,
  ) {
    const options = { treeDataProvider: this, showCollapseAll: true };
    this.view = vscode.window.createTreeView(
      id,
      dragAndDropController ? { ...options, dragAndDropController } : options,
    );
    const unsubscribe = store.onChange((change) => {
      if (isRelevant(change)) this.update.schedule();
    });
    const visibility = this.view.onDidChangeVisibility(({ visible }) => {
      if (visible) this.guard.shown();
    });
    const collapse = this.view.onDidCollapseElement(({ element }) => {
      this.expanded.delete(element.id);
      this.guard.collapsed(element.id);
    });
    this.disposables = [
      { dispose: unsubscribe },
      visibility,
      collapse,
      this.update,
      this.guard,
      this.view,
      this.changed,
    ];
  }

  abstract rows(parent: Node | undefined): Node[];
  abstract rowId(node: Node): string;

  rowContent(node: Node): unknown {
    return node;
  }

  /** The tree item of a row, without its id. */
  protected abstract item(node: Node): vscode.TreeItem;

  /** Called with the top rows when they are compared or VS Code gets them. */
  protected onTopRows?(rows: readonly Node[]): void;

  /** Updates what the view shows around the rows: description, message, badge. */
  protected abstract updateHeader(): void;

  getTreeItem(row: TreeRow<Node>): vscode.TreeItem {
    row.shown = this.latest.get(row.id) ?? row.shown;
    const item = this.item(row.shown);
    item.id = row.id;
    return item;
  }

  getChildren(row?: TreeRow<Node>): TreeRow<Node>[] {
    this.guard.requested(row?.id);
    if (row) this.expanded.add(row.id);
    const rows = this.rows(row?.shown);
    if (!row) this.onTopRows?.(rows);
    return rows.map((node) => this.treeRow(node));
  }

  /** The row that VS Code knows, or will know when it requests it. */
  protected treeRow(node: Node): TreeRow<Node> {
    const id = this.rowId(node);
    this.latest.set(id, node);
    const row = this.known.get(id) ?? new TreeRow(id, node);
    this.known.set(id, row);
    return row;
  }

  /** Makes VS Code request all rows again, even if they have not changed. */
  refresh(): void {
    this.guard.start();
  }

  /** Refreshes the rows that have changed. */
  private compare(): void {
    const rows = comparableRows(this);
    const changed = changedRows(this.drawn, rows);
    this.drawn = rows;
    this.latest.clear();
    this.remember(rows);
    for (const id of [...this.known.keys()].filter((each) => !this.latest.has(each))) {
      this.known.delete(id);
      this.expanded.delete(id);
    }
    this.onTopRows?.(rows.map(({ node }) => node));
    if (changed === "all") this.guard.start();
    else this.redraw(changed);
  }

  private remember(rows: readonly ComparableRow<Node>[]): void {
    for (const { id, node, below } of rows) {
      this.latest.set(id, node);
      this.remember(below);
    }
  }

  /** Refreshes the tree soon, if a row has changed. */
  protected scheduleUpdate(): void {
    this.update.schedule();
  }

  /** Redraws only these rows and the rows below them. */
  protected redraw(ids: readonly string[]): void {
    const rows = ids.flatMap((id) => this.known.get(id) ?? []);
    if (rows.length === 0) return;
    this.guard.expect(ids.filter((id) => this.expanded.has(id)));
    this.changed.fire(rows);
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }
}

/** Gives a tree item what a row shows next to its label. */
export function showRow(item: vscode.TreeItem, row: Row): void {
  item.description = row.description;
  item.tooltip = row.tooltip;
  item.iconPath = new vscode.ThemeIcon(
    row.icon,
    row.color === undefined ? undefined : new vscode.ThemeColor(row.color),
  );
  item.accessibilityInformation = { label: row.screenReaderLabel };
}
