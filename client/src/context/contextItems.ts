// Resolves the mentions in a task, and collects the files and keywords that can be mentioned.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { filesWithoutDependencies } from "../code/sourceFiles";
import { lineRangeOf, linesLabel } from "../code/taskTexts";
import { urisOfPath, workspacePath } from "../folders";
import type { ContextItem } from "../protocol";
import type { Mentionable } from "./completions";
import { documentEditor, openUris, toWireRange } from "./editorContext";
import { hasChanges, uncommittedChanges } from "./git";
import { mentionsIn, pathMention, type Mention } from "./mentions";

const MAX_FILES = 10_000;
/** How long a list of the workspace's files is reused while the user types, in milliseconds. */
const FILES_VALID_MS = 10_000;

/** Returns a context item for each mention in a task. Leaves out a mention that refers to nothing: it is plain text. */
export async function contextItems(task: string): Promise<ContextItem[]> {
  const items = await Promise.all(mentionsIn(task).map(contextItem));
  return items.filter((item) => item !== undefined);
}

async function contextItem(mention: Mention): Promise<ContextItem | undefined> {
  switch (mention.kind) {
    case "selection":
      return selectionItem();
    case "problems":
      return { kind: "problems" };
    case "changes": {
      // a repository that Git cannot read must not prevent the task
      const text = await uncommittedChanges().catch(() => undefined);
      return text === undefined ? undefined : { kind: "changes", text };
    }
    case "path": {
      const uri = await firstExisting(mention.paths.flatMap(urisOfPath));
      return uri && { kind: "file", uri: uri.toString() };
    }
  }
}

/** Returns mentions of those URIs that are in the workspace, followed by a space; undefined if none is. */
export function mentionsOf(uris: readonly string[]): string | undefined {
  const paths = uris
    .map(parseUri)
    .filter((uri) => uri !== undefined)
    .filter((uri) => vscode.workspace.getWorkspaceFolder(uri))
    .map(workspacePath);
  return paths.length > 0 ? `${paths.map(pathMention).join(" ")} ` : undefined;
}

function parseUri(address: string): vscode.Uri | undefined {
  let uri: vscode.Uri;
  try {
    uri = vscode.Uri.parse(address);
  } catch {
    return undefined;
  }
  // the Explorer of a remote window uses this scheme; for the extension, which runs remotely, the files are local
  const isRemote = uri.scheme === "vscode-remote" && vscode.env.remoteName !== undefined;
  return isRemote ? vscode.Uri.file(uri.path) : uri;
}

/**
 * Returns the main selection in the document that the user looked at last. Undefined if nothing is selected there, or
 * if the user looked at a side of a diff of proposed changes.
 */
export function selectionItem(): ContextItem | undefined {
  const editor = documentEditor();
  if (!editor || editor.selection.isEmpty) return undefined;
  const { document, selection } = editor;
  const { uri } = document;
  const range = toWireRange(selection);
  if (uri.scheme === "file") return { kind: "selection", uri: uri.toString(), range };
  if (uri.scheme !== "untitled") return undefined;
  const lines = lineRangeOf(selection);
  const text = document.getText(new vscode.Range(lines.start, 0, lines.end + 1, 0));
  return { kind: "selection", name: workspacePath(uri), range, text };
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

/** Returns what can be mentioned now. Searches the workspace for its files, unless they are given. */
export async function mentionable(files = workspaceFiles()): Promise<Mentionable> {
  return { files: await files, open: pathsOf(openUris()), keywords: keywords() };
}

/** Returns a function like `mentionable` for calls at each key: it reuses a list of files for `FILES_VALID_MS`. */
export function mentionableAtEachKey(): () => Promise<Mentionable> {
  let last: { readonly files: Promise<string[]>; readonly searchedAt: number } | undefined;
  return () => {
    if (!last || Date.now() - last.searchedAt > FILES_VALID_MS)
      last = { files: workspaceFiles(), searchedAt: Date.now() };
    return mentionable(last.files);
  };
}

/**
 * Returns the paths of at most `MAX_FILES` files of the workspace. Leaves out dependencies, and the files that VS Code's
 * own search leaves out.
 */
async function workspaceFiles(): Promise<string[]> {
  const find = (include: string, exclude: string, limit: number): Thenable<vscode.Uri[]> =>
    vscode.workspace.findFiles(include, exclude, limit);
  return pathsOf(await filesWithoutDependencies(find, searchExcludes(), MAX_FILES));
}

/** Returns the globs of `search.exclude`. VS Code itself applies `files.exclude`. */
function searchExcludes(): string[] {
  const globs = vscode.workspace.getConfiguration("search").get<Record<string, unknown>>("exclude", {});
  return Object.keys(globs).filter((glob) => globs[glob] === true);
}

function pathsOf(uris: readonly vscode.Uri[]): string[] {
  return uris.filter((uri) => vscode.workspace.getWorkspaceFolder(uri)).map(workspacePath);
}

function keywords(): Mentionable["keywords"] {
  const editor = documentEditor();
  const name = editor ? workspacePath(editor.document.uri) : "";
  const lines = linesLabel([lineRangeOf(editor?.selection ?? new vscode.Range(0, 0, 0, 0))]);
  return {
    ...(selectionItem() ? { selection: `${name}, ${lines}` } : {}),
    problems: t("the problems that the editor shows"),
    ...(hasChanges() ? { changes: t("the uncommitted changes") } : {}),
  };
}
