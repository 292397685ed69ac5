// The base of the tree views, which are drawn from the store. VS Code loses a click on a row that it redraws between
// press and release, so a tree is refreshed only if what a row shows or does has changed.

import * as vscode from "vscode";
import { drawnFrom, type Scheduled } from "./throttle";
import { fingerprint } from "./fingerprint";
import { RefreshGuard } from "./refreshGuard";
import type { Change } from "../state/session";
import type { Store } from "../state/store";
import type { Row } from "./row";
import { treeItem, treeView, type TreeItem, type View } from "./show";

/** How often, in milliseconds, and how many times a row is selected until it is. */
const [SELECT_PAUSE, MOST_SELECTS] = [50, 20];

export abstract class StoreTree<Node> implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Node | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  protected readonly view: View<vscode.TreeView<Node>>;
  private readonly guard = new RefreshGuard(
    () => {
      this.changed.fire(undefined);
    },
    () => this.view.visible,
    () => performance.now(),
  );
  private readonly update: Scheduled;
  /** The fingerprint of the rows at the last refresh. */
  private shownRows = "";
  private readonly disposables: { dispose(): unknown }[];

  protected constructor(
    id: string,
    store: Store,
    isRelevant: (change: Change) => boolean,
    dragAndDropController?: vscode.TreeDragAndDropController<Node>,
  ) {
    const options = { treeDataProvider: this, showCollapseAll: true };
    this.view = treeView(id, dragAndDropController ? { ...options, dragAndDropController } : options);
    const update = (): void => {
      const rows = fingerprint(this.withDescendants());
      if (rows !== this.shownRows) this.guard.refresh();
      this.shownRows = rows;
      // after the refresh: VS Code delays a refresh that follows a change of the view's message
      this.updateHeader();
    };
    this.update = drawnFrom(store, update, isRelevant);
    const visibility = this.view.onDidChangeVisibility(({ visible }) => {
      if (!visible) return;
      this.guard.treeShown();
      this.onShown?.();
    });
    // with several folders, paths begin with the folder's name
    const folders = vscode.workspace.onDidChangeWorkspaceFolders(this.update.schedule);
    this.disposables = [visibility, folders, this.update, this.guard, this.view, this.changed];
  }

  /** Called whenever the view becomes visible. */
  protected onShown?(): void;

  abstract getTreeItem(node: Node): TreeItem;

  /** The rows below `node`, or the top rows. A row must contain everything that it shows and that its commands use. */
  protected abstract rows(node: Node | undefined): Node[];

  /** Called when VS Code requests the rows below `parent`, or the top rows. */
  protected onRowsRequested?(rows: readonly Node[], parent: Node | undefined): void;

  /** Returns what identifies a row, also when it is drawn again. */
  protected abstract keyOf(node: Node): string;

  /** Updates what the view shows around the rows: description, message, badge. */
  protected abstract updateHeader(): void;

  getChildren(node?: Node): Node[] {
    if (node === undefined) this.guard.rowsRequested();
    const rows = this.rows(node);
    this.onRowsRequested?.(rows, node);
    return rows;
  }

  /**
   * The row that has the keyboard focus; undefined if none is found. The API gives only the selection, so this toggles
   * the selection of the focused row in the list that has the focus, returns the row that differs, and leaves the
   * selection changed.
   */
  protected async focusedRow(): Promise<Node | undefined> {
    const before = this.view.selection;
    await vscode.commands.executeCommand("list.toggleSelection");
    const after = this.view.selection;
    const onlyIn = (rows: readonly Node[], others: readonly Node[]): Node | undefined =>
      rows.find((row) => !others.some((other) => this.keyOf(other) === this.keyOf(row)));
    return onlyIn(after, before) ?? onlyIn(before, after);
  }

  /**
   * Selects a row, and gives it the keyboard focus if `focus` is true. VS Code ignores this while it requests the rows
   * again, so this is repeated until the row is selected, for a second at most, while the view is visible and
   * `isWanted` returns true.
   */
  protected async select(row: Node, focus: boolean, isWanted = (): boolean => true): Promise<void> {
    const isSelected = (): boolean => this.view.selection.some((other) => this.keyOf(other) === this.keyOf(row));
    for (let count = 0; count < MOST_SELECTS && this.view.visible && isWanted(); count++) {
      if (!this.guard.isWaiting) {
        // rejected if the row is not known; would show a view that is hidden
        await Promise.resolve(this.view.reveal(row, { select: true, focus })).catch(() => undefined);
        if (isSelected()) return;
      }
      await new Promise((resolve) => setTimeout(resolve, SELECT_PAUSE));
    }
  }

  /** Makes VS Code request all rows again, even if they have not changed. */
  refresh(): void {
    this.guard.refresh();
  }

  private withDescendants(node?: Node): unknown[] {
    return this.rows(node).map((row) => [row, this.withDescendants(row)]);
  }

  /** Refreshes the tree soon, if a row has changed. */
  protected scheduleUpdate(): void {
    this.update.schedule();
  }

  /** Redraws only this row. It must be the object that VS Code got last for the row. */
  protected redrawRow(row: Node): void {
    this.changed.fire(row);
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }
}

/** Makes the item of a row. */
export function rowItem(row: Row, collapsible?: vscode.TreeItemCollapsibleState): TreeItem {
  const item = treeItem(row, collapsible);
  item.iconPath = new vscode.ThemeIcon(
    row.icon,
    row.color === undefined ? undefined : new vscode.ThemeColor(row.color),
  );
  return item;
}

/**
 * Returns the URI of a file's row in a session, for its icon and its problem mark. Because the scheme is not `file`, VS
 * Code does not show the file's own decorations on the row.
 */
export function rowUri(sessionId: string, uri: string): vscode.Uri {
  return vscode.Uri.parse(uri).with({ scheme: "fairlead-row", authority: sessionId });
}
