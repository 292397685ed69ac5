// The tabs and the short messages of VS Code's window.

import * as vscode from "vscode";

/** How long a message stays in the status bar, in milliseconds. */
const MESSAGE_TIME = 5000;

export const activeTab = (): vscode.Tab | undefined => vscode.window.tabGroups.activeTabGroup.activeTab;

/** Returns the tabs of all groups. */
export const allTabs = (): vscode.Tab[] => vscode.window.tabGroups.all.flatMap((group) => group.tabs);

/** Shows a message in the status bar for a few seconds. */
export function showBriefly(message: string): void {
  vscode.window.setStatusBarMessage(message, MESSAGE_TIME);
}
