// Where the server saves the sessions.

import * as vscode from "vscode";

export interface StorageFolders {
  /** The folder for the sessions of all windows. */
  readonly storageDir: string;
  /** The folder of an earlier version, from which the server moves the sessions; undefined without a workspace. */
  readonly formerStorageDir: string | undefined;
}

/**
 * Returns the storage folders for `initialize`. VS Code's own storage of a workspace is unsuitable: after a folder is
 * added or the workspace is renamed, VS Code uses a new, empty storage folder.
 */
export function storageFolders({ globalStorageUri, storageUri }: vscode.ExtensionContext): StorageFolders {
  return {
    // next to the global storage, not in it: VS Code deletes the global storage when the extension is uninstalled, and
    // commands may need the server's environment there, but must not see the sessions
    storageDir: vscode.Uri.joinPath(globalStorageUri, "..", "fairlead-sessions").fsPath,
    formerStorageDir: storageUri?.fsPath,
  };
}
