// Files and folders of the workspace: converts between URIs and workspace paths. If the workspace has several folders, a path begins with the name of its
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

/** Returns the first of these URIs that exists. */
export async function firstExisting(uris: readonly vscode.Uri[]): Promise<vscode.Uri | undefined> {
  for (const uri of uris) {
    const exists = await vscode.workspace.fs.stat(uri).then(
      () => true,
      () => false,
    );
    if (exists) return uri;
  }
  return undefined;
}

interface RealFolder {
  readonly uri: vscode.Uri;
  readonly name: string;
  /** The URI of its real path, without symbolic links; `uri` if the path cannot be resolved. */
  readonly real: vscode.Uri;
}

let known: { readonly key: string; readonly folders: readonly RealFolder[] } | undefined;

/** Returns the workspace's folders. Their real paths are looked up only when the folders have changed. */
export function realFolders(): readonly RealFolder[] {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const key = folders.map(({ uri, name }) => `${uri.toString()} ${name}`).join("\n");
  if (known?.key !== key) {
    known = { key, folders: folders.map(({ uri, name }) => ({ uri, name, real: realUri(uri) })) };
  }
  return known.folders;
}

/**
 * Returns a function that converts the URI of a file below `root` to the file's URI in the workspace. The two differ if
 * a workspace folder is opened through a symbolic link and `root` is a real path. Files outside of the workspace keep
 * their URI.
 */
export function toWorkspaceUri(root: vscode.Uri): (uri: vscode.Uri) => vscode.Uri {
  const links = realFolders()
    .filter(({ uri, real }) => real.toString() !== uri.toString())
    .sort((one, other) => other.real.path.length - one.real.path.length); // a file belongs to the innermost folder
  if (links.length === 0) return (uri) => uri;
  const realRoot = realUri(root); // `root` may differ from it in upper and lower case
  return (uri) => {
    if (vscode.workspace.getWorkspaceFolder(uri)) return uri;
    const path = folderPrefix(realRoot) + uri.path.slice(folderPrefix(root).length);
    const link = links.find(
      ({ real }) => real.authority === realRoot.authority && folderPrefix({ path }).startsWith(folderPrefix(real)),
    );
    return link ? vscode.Uri.joinPath(link.uri, path.slice(folderPrefix(link.real).length)) : uri;
  };
}

function realUri(uri: vscode.Uri): vscode.Uri {
  if (uri.scheme !== "file") return uri;
  try {
    // `fsPath` makes the letter of a Windows drive lowercase, as in VS Code's other URIs
    return vscode.Uri.file(vscode.Uri.file(realpathSync.native(uri.fsPath)).fsPath);
  } catch {
    return uri;
  }
}

const folderPrefix = ({ path }: { path: string }): string => path.replace(/\/?$/, "/");
