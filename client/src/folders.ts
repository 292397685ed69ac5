// The folders of the workspace. With several, a path of the workspace begins with the name of its folder.

import * as vscode from "vscode";

/** The files or folders that a path of the workspace may mean: several if folders have the same name. */
export function urisOfPath(path: string): vscode.Uri[] {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length < 2) return folders.map(({ uri }) => vscode.Uri.joinPath(uri, path));
  const named = folders.filter(({ name }) => path === name || path.startsWith(`${name}/`));
  return named.map(({ uri, name }) => vscode.Uri.joinPath(uri, path.slice(name.length)));
}

/** The path of a file or folder in the workspace, as the agent names it; the whole path if it is elsewhere. */
export function workspacePath(uri: vscode.Uri): string {
  return vscode.workspace.asRelativePath(uri);
}
