// Resolves the mentions in a task, and collects the files and keywords that can be mentioned.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { filesWithoutDependencies } from "./sourceFiles";
import { cellsLabel, lineRangeOf, linesLabel } from "./lines";
import { firstExisting, urisOfPath, workspacePath } from "../ui/folders";
import type { ContextItem, SelectionItem } from "../wire/protocol";
import type { ServerOffer } from "../wire/protocolStates";
import type { Mentionable } from "./completions";
import { cellOf, openUris, shownFile, shownNow, toWireRange } from "./editorContext";
import { hasChanges, uncommittedChanges } from "./git";
import { lastCommand } from "./terminalCommands";
import { mentionsIn, pathMention, type Mention } from "./mentions";
import { cellsText, versionText } from "./shownParts";

const MAX_FILES = 10_000;
/** How long a list of the workspace's files is reused while the user types, in milliseconds. */
const FILES_VALID_MS = 10_000;

/**
 * Returns a context item for each mention in a session's task. Leaves out a mention that refers to nothing: it is plain
 * text. `offers` are those of the session's tool servers.
 */
export async function contextItems(
  task: string,
  sessionId: string,
  offers: readonly ServerOffer[],
): Promise<ContextItem[]> {
  const items = await Promise.all(mentionsIn(task, offers).map((mention) => contextItem(mention, sessionId)));
  return items.filter((item) => item !== undefined);
}

async function contextItem(mention: Mention, sessionId: string): Promise<ContextItem | undefined> {
  switch (mention.kind) {
    case "selection": {
      const part = selectedPart();
      return part && partItem(part, sessionId);
    }
    case "problems":
      return { kind: "problems" };
    case "changes": {
      // a repository that Git cannot read must not prevent the task
      const text = await uncommittedChanges().catch(() => undefined);
      return text === undefined ? undefined : { kind: "changes", text };
    }
    case "terminal":
      return lastCommand();
    case "resource":
      return mention;
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

/** Lines of a document, or cells of a notebook. */
interface Part {
  /** The URI of the document, or that of the notebook. */
  readonly uri: vscode.Uri;
  readonly cells?: { readonly start: number; readonly end: number } | undefined;
  /** In the document, or in the cell. Undefined for whole cells. */
  readonly range?: vscode.Range | undefined;
  readonly text: string;
}

/**
 * Returns the main selection in what the user looked at last, or the selected cells if it is a notebook in which no text
 * is selected. Undefined if nothing is selected.
 */
function selectedPart(): Part | undefined {
  const { uri, editor, notebook } = shownNow() ?? {};
  if (editor && !editor.selection.isEmpty) return partOf(editor.document, editor.selection);
  const [cells] = notebook?.selections ?? [];
  if (!uri || !notebook || !cells) return undefined;
  const texts = notebook.notebook.getCells(cells).map(({ document }) => document.getText());
  return texts.some(Boolean) ? { uri, cells, text: texts.join("\n\n") } : undefined;
}

function partOf(document: vscode.TextDocument, range: vscode.Range): Part {
  const cell = cellOf(document);
  const { start, end } = lineRangeOf(range);
  return {
    uri: cell?.notebook.uri ?? document.uri,
    cells: cell && { start: cell.index, end: cell.index + 1 },
    range,
    text: document.getText(new vscode.Range(start, 0, end + 1, 0)),
  };
}

/**
 * Returns the context item for a part. It contains the text if the agent cannot read it in a file. `sessionId` is the
 * agent's session, if it exists already.
 */
function partItem({ uri, cells, range, text }: Part, sessionId: string | undefined): SelectionItem {
  const lines = range && { range: toWireRange(range) };
  if (uri.scheme === "file" && !cells) return { kind: "selection", uri: uri.toString(), ...lines };
  const file = shownFile(uri);
  if (file)
    return { kind: "selection", uri: file.toString(), name: wordsOf({ uri, cells }, sessionId), ...lines, text };
  const name = [workspacePath(uri), ...(cells ? [cellsText(cells)] : [])].join(", ");
  return { kind: "selection", name, ...lines, text };
}

/** Says for the agent what a part shows of a file: `cell 2`, `before the proposed changes`. Empty for the file itself. */
function wordsOf({ uri, cells }: Pick<Part, "uri" | "cells">, sessionId: string | undefined): string {
  const words = [cells && cellsText(cells), versionText(uri, sessionId)];
  return words.filter((each) => each !== undefined).join(", ");
}

/** Names what a document shows of a file, for the agent of a new session: `chart.ipynb, cell 2`. */
export function nameForAgent(document: vscode.TextDocument): string {
  const part = partOf(document, new vscode.Range(0, 0, 0, 0));
  const words = wordsOf(part, undefined);
  return [workspacePath(shownFile(part.uri) ?? part.uri), ...(words ? [words] : [])].join(", ");
}

/** Returns the context item for lines of a document, for a new session. */
export function linesItem(document: vscode.TextDocument, range: vscode.Range): ContextItem {
  return partItem(partOf(document, range), undefined);
}

/**
 * Returns the text that is selected in a part or an old version of a file, for a session. The agent cannot read it
 * itself. Undefined if nothing is selected there.
 */
export function selectedTextItem(sessionId: string): ContextItem | undefined {
  const part = selectedPart();
  if (!part?.range || !shownFile(part.uri)) return undefined;
  const item = partItem(part, sessionId);
  return "text" in item ? item : undefined;
}

/** Names what is selected, in the user's language; undefined if nothing is. */
export function selectionLabel(): string | undefined {
  const part = selectedPart();
  if (!part) return undefined;
  const { uri, cells, range } = part;
  const labels = [...(cells ? [cellsLabel(cells)] : []), ...(range ? [linesLabel([lineRangeOf(range)])] : [])];
  return [workspacePath(shownFile(uri) ?? uri), ...labels].join(", ");
}

/**
 * Returns what can be mentioned now. `offers` are those of the tool servers. Searches the workspace for its files, unless
 * they are given.
 */
export async function mentionable(
  offers: Promise<readonly ServerOffer[]>,
  files = workspaceFiles(),
): Promise<Mentionable> {
  return { files: await files, open: pathsOf(openUris()), keywords: keywords(), offers: await offers };
}

/** Returns a function like `mentionable` for calls at each key: it reuses a list of files for `FILES_VALID_MS`. */
export function mentionableAtEachKey(offers: () => Promise<readonly ServerOffer[]>): () => Promise<Mentionable> {
  let last: { readonly files: Promise<string[]>; readonly searchedAt: number } | undefined;
  return () => {
    if (!last || Date.now() - last.searchedAt > FILES_VALID_MS)
      last = { files: workspaceFiles(), searchedAt: Date.now() };
    return mentionable(offers(), last.files);
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
  const selection = selectionLabel();
  const command = lastCommand()?.command;
  return {
    ...(selection === undefined ? {} : { selection }),
    problems: t("the problems that the editor shows"),
    ...(command === undefined ? {} : { terminal: t("the last command in the terminal: {0}", command) }),
    ...(hasChanges() ? { changes: t("the uncommitted changes") } : {}),
  };
}
