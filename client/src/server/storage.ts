// Where the server saves the sessions.

import * as vscode from "vscode";

/**
 * Returns the folder for the sessions of all windows. VS Code's own storage of a workspace is unsuitable: after a folder
 * is added or the workspace is renamed, VS Code uses a new, empty storage folder.
 */
export function storageFolder({ globalStorageUri }: vscode.ExtensionContext): string {
  // next to the global storage, not in it: VS Code deletes the global storage when the extension is uninstalled, and
  // commands may need the server's environment there, but must not see the sessions
  return vscode.Uri.joinPath(globalStorageUri, "..", "fairlead-sessions").fsPath;
}
