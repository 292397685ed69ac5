// The Proposed Changes view: files and their hunks, with accept and reject beside each.

import * as vscode from "vscode";
import { editRows, pendingFiles, type EditRow } from "./editRows";
import { coalesced, type Store } from "./state";

export class EditsView implements vscode.TreeDataProvider<EditRow>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: vscode.TreeView<EditRow>;
  private readonly redraw = coalesced(() => {
    this.draw();
  });
  private readonly unsubscribe: () => void;
  private asked = false;

  constructor(private readonly store: Store) {
    this.view = vscode.window.createTreeView("fairlead.edits", { treeDataProvider: this, showCollapseAll: true });
    this.unsubscribe = store.onChange((change) => {
      if (change === "edits" || change === "sessions") this.redraw.schedule();
    });
  }

  getChildren(row?: EditRow): EditRow[] {
    this.afterFirst();
    return editRows(this.store.reviewable, row, relative);
  }

  getTreeItem(row: EditRow): vscode.TreeItem {
    const item = new vscode.TreeItem("");
    item.description = row.description;
    item.contextValue = row.kind;
    switch (row.kind) {
      case "session":
        item.label = row.label;
        item.id = row.sessionId;
        item.collapsibleState = vscode.TreeItemCollapsibleState.Expanded;
        break;
      case "file": {
        const { uri, kind, state } = row.file;
        item.label = uri.split("/").at(-1) ? decodeURIComponent(uri.split("/").at(-1) ?? "") : uri;
        item.id = `${row.sessionId} ${uri}`;
        item.resourceUri = vscode.Uri.parse(uri);
        item.iconPath =
          state === "conflict" ? new vscode.ThemeIcon("warning", new vscode.ThemeColor("charts.orange")) : vscode.ThemeIcon.File;
        item.tooltip = row.tooltip;
        item.collapsibleState =
          kind === "modify" ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None;
        item.command = openCommand(row);
        item.accessibilityInformation = { label: `${row.tooltip.replace(/\n/g, ", ")}, proposed` };
        break;
      }
      case "hunk":
        item.label = row.label;
        item.id = `${row.sessionId} ${row.file.uri} ${row.hunk.id}`;
        item.iconPath = new vscode.ThemeIcon(row.hunk.oldLines === 0 ? "diff-added" : row.hunk.newLines === 0 ? "diff-removed" : "diff-modified");
        item.tooltip = row.tooltip;
        item.command = openCommand(row);
        item.accessibilityInformation = { label: `${row.tooltip}, ${row.description}` };
        break;
    }
    return item;
  }

  /** VS Code drops a change that is told while it asks for the rows the first time: it is told again behind that. */
  private afterFirst(): void {
    if (this.asked) return;
    this.asked = true;
    setTimeout(() => {
      this.changed.fire(undefined);
    }, 0);
  }

  dispose(): void {
    this.unsubscribe();
    this.redraw.dispose();
    this.view.dispose();
    this.changed.dispose();
  }

  private draw(): void {
    const files = pendingFiles(this.store.sessions);
    this.view.badge = files > 0 ? { value: files, tooltip: files === 1 ? "1 file to review" : `${files} files to review` } : undefined;
    void vscode.commands.executeCommand("setContext", "fairlead.hasProposals", files > 0);
    this.changed.fire(undefined);
  }
}

function openCommand(row: EditRow): vscode.Command {
  return { command: "fairlead.openDiff", title: "Open the diff", arguments: [row] };
}

/** A file's path as the person knows it. */
export function relative(uri: string): string {
  return vscode.workspace.asRelativePath(vscode.Uri.parse(uri), false);
}
