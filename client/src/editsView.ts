// The Proposed Changes view: files and their hunks, with accept and reject beside each.

import * as vscode from "vscode";
import { editRows, pendingFiles, type EditRow } from "./editRows";
import type { Store } from "./state";
import { DrawnTree } from "./tree";

export class EditsView extends DrawnTree<EditRow> {
  constructor(private readonly store: Store) {
    super("fairlead.edits", store, (change) => change === "edits" || change === "sessions");
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

  protected rows(row: EditRow | undefined): EditRow[] {
    return editRows(this.store.reviewable, row, relative);
  }

  protected decorate(): void {
    const files = pendingFiles(this.store.sessions);
    this.view.badge = files > 0 ? { value: files, tooltip: files === 1 ? "1 file to review" : `${files} files to review` } : undefined;
    void vscode.commands.executeCommand("setContext", "fairlead.hasProposals", files > 0);
  }
}

function openCommand(row: EditRow): vscode.Command {
  return { command: "fairlead.openDiff", title: "Open the diff", arguments: [row] };
}

/** A file's path as the person knows it. */
export function relative(uri: string): string {
  return vscode.workspace.asRelativePath(vscode.Uri.parse(uri), false);
}
