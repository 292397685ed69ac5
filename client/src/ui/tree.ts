// What the tree views have in common: drawn anew from the store, where a row is another one than before. A click on a row
// that VS Code draws anew in that moment is lost, so what looks the same and does the same is left alone.

import * as vscode from "vscode";
import { coalesced } from "./throttle";
import { fingerprint } from "./fingerprint";
import { type Change, type Store } from "../state";

export abstract class DrawnTree<Node> implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Node | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  protected readonly view: vscode.TreeView<Node>;
  private readonly unsubscribe: () => void;
  private readonly redraw = coalesced(() => {
    this.decorate();
    const now = fingerprint(this.withBelow());
    if (now === this.drawn) return;
    this.drawn = now;
    this.changed.fire(undefined);
  });
  private drawn = "";
  private asked = false;

  protected constructor(
    id: string,
    store: Store,
    concerns: (change: Change) => boolean,
    dragAndDropController?: vscode.TreeDragAndDropController<Node>,
  ) {
    const moving = dragAndDropController && { dragAndDropController };
    this.view = vscode.window.createTreeView(id, { treeDataProvider: this, showCollapseAll: true, ...moving });
    this.unsubscribe = store.onChange((change) => {
      if (concerns(change)) this.redraw.schedule();
    });
  }

  abstract getTreeItem(node: Node): vscode.TreeItem;

  /** The rows below one, or the top ones: all that is shown of them and all that their commands go by. */
  protected abstract rows(node: Node | undefined): Node[];

  /** The rows were handed out, below one or the top ones. */
  protected shown?(rows: readonly Node[], below: Node | undefined): void;

  /** What stands around the rows: description, message, badge. */
  protected abstract decorate(): void;

  getChildren(node?: Node): Node[] {
    if (!this.asked) {
      // VS Code drops a change that is told while it asks for the rows the first time: it is told again behind that
      this.asked = true;
      setTimeout(() => {
        this.changed.fire(undefined);
      }, 0);
    }
    const rows = this.rows(node);
    this.shown?.(rows, node);
    return rows;
  }

  private withBelow(node?: Node): unknown[] {
    return this.rows(node).map((row) => [row, this.withBelow(row)]);
  }

  /** Draws the rows anew, soon, where one is another than before. */
  protected drawAgain(): void {
    this.redraw.schedule();
  }

  /** Draws one row anew, as it was handed out last, and leaves the others alone. */
  protected redrawRow(row: Node): void {
    this.changed.fire(row);
  }

  dispose(): void {
    this.unsubscribe();
    this.redraw.dispose();
    this.view.dispose();
    this.changed.dispose();
  }
}
