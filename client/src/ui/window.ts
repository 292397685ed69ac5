// The tabs of VS Code's window.

import * as vscode from "vscode";

export const activeTab = (): vscode.Tab | undefined => vscode.window.tabGroups.activeTabGroup.activeTab;

/** Returns the tabs of all groups. */
export const allTabs = (): vscode.Tab[] => vscode.window.tabGroups.all.flatMap((group) => group.tabs);

/** Returns the files that a tab shows. Those of a diff are its left and its right side. */
export function urisOfTab({ input }: vscode.Tab): vscode.Uri[] {
  if (input instanceof vscode.TabInputTextDiff || input instanceof vscode.TabInputNotebookDiff)
    return [input.original, input.modified];
  const hasUri =
    input instanceof vscode.TabInputText ||
    input instanceof vscode.TabInputNotebook ||
    input instanceof vscode.TabInputCustom;
  return hasUri ? [input.uri] : [];
}
