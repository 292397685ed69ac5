// Converts between URIs and workspace paths. If the workspace has several folders, a path begins with the name of its
// folder.

import * as vscode from "vscode";

/**
 * Returns the URIs that a workspace path can mean: several if workspace folders have the same name; none if no folder
 * is open or, with several folders, if the path begins with no folder's name.
 */
export function urisOfPath(path: string): vscode.Uri[] {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length < 2) return folders.map(({ uri }) => vscode.Uri.joinPath(uri, path));
  const named = folders.filter(({ name }) => path === name || path.startsWith(`${name}/`));
  return named.map(({ uri, name }) => vscode.Uri.joinPath(uri, path.slice(name.length)));
}

/**
 * Returns the workspace path by which the agent knows a file or folder; the whole path if it is outside of the
 * workspace. Differs from the agent's path if the server has changed the name of its folder (docs/protocol.md,
 * Initialize).
 */
export function workspacePath(uri: vscode.Uri): string {
  return vscode.workspace.asRelativePath(uri);
}

/** As `workspacePath`, for a URI from the wire. */
export function relative(uri: string): string {
  return workspacePath(vscode.Uri.parse(uri));
}
