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
    // next to the global storage, which VS Code deletes when the extension is uninstalled; commands cannot see this
    // folder, but may need the server's environment, which is in the global storage
    storageDir: vscode.Uri.joinPath(globalStorageUri, "..", "fairlead-sessions").fsPath,
    formerStorageDir: storageUri?.fsPath,
  };
}
