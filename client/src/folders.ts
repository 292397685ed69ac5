// Converts between URIs and workspace paths. If the workspace has several folders, a path begins with the name of its
// folder.

import { realpathSync } from "node:fs";
import * as vscode from "vscode";

/**
 * Returns the URIs that a workspace path can mean: several if workspace folders have the same name, or if the only
 * folder's name may be part of the path; none if no folder is open or, with several folders, if the path begins with no
 * folder's name.
 */
export function urisOfPath(path: string): vscode.Uri[] {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const named = folders.filter(({ name }) => path === name || path.startsWith(`${name}/`));
  const inNamed = named.map(({ uri, name }) => vscode.Uri.joinPath(uri, path.slice(name.length)));
  // if only one folder is left, the server still begins paths with its name
  return folders.length < 2 ? [...folders.map(({ uri }) => vscode.Uri.joinPath(uri, path)), ...inNamed] : inNamed;
}

/**
 * Returns the workspace path by which the agent knows a file or folder: its name for a workspace folder, and the whole
 * path if it is outside of the workspace. Differs from the agent's path if the server has changed the name of its
 * folder (docs/protocol.md, Initialize).
 */
export function workspacePath(uri: vscode.Uri): string {
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  return folder?.uri.toString() === uri.toString() ? folder.name : vscode.workspace.asRelativePath(uri);
}

/** As `workspacePath`, for a URI from the wire. */
export function relative(uri: string): string {
  return workspacePath(vscode.Uri.parse(uri));
}

/** Returns the URI of the real path of a file or folder; the URI itself if the path cannot be resolved. */
export function realUri(uri: vscode.Uri): vscode.Uri {
  if (uri.scheme !== "file") return uri;
  try {
    // `fsPath` makes the letter of a Windows drive lowercase, as in VS Code's other URIs
    return vscode.Uri.file(vscode.Uri.file(realpathSync.native(uri.fsPath)).fsPath);
  } catch {
    return uri;
  }
}

/**
 * Returns a function that converts the URI of a file's real path to the file's URI in the workspace. The two differ if
 * a workspace folder is opened through a symbolic link. The function returns all other URIs unchanged.
 */
export function realToWorkspaceUri(): (uri: vscode.Uri) => vscode.Uri {
  const links = (vscode.workspace.workspaceFolders ?? [])
    .map(({ uri }) => ({ uri, real: folderPrefix(realUri(uri)) }))
    .filter(({ uri, real }) => real !== folderPrefix(uri))
    .sort((one, other) => other.real.length - one.real.length); // a file belongs to the innermost folder
  return (uri) => {
    if (links.length === 0 || vscode.workspace.getWorkspaceFolder(uri)) return uri;
    const link = links.find(({ real }) => folderPrefix(uri).startsWith(real));
    return link ? vscode.Uri.joinPath(link.uri, uri.path.slice(link.real.length)) : uri;
  };
}

const folderPrefix = ({ path }: vscode.Uri): string => path.replace(/\/?$/, "/");
