// Describes what the user is looking at, for a task.

import * as vscode from "vscode";
import { parseDiffUri } from "../review/diffUris";
import { scheme, type EditorContext } from "../protocol";
import type { Diagnostic, Range } from "../protocolStates";
import { toWireDiagnostic } from "../code/diagnostics";
import { gitState } from "./git";
import { allTabs } from "../ui/window";

/** The maximum number of open files in a context. */
const MAX_OPEN = 100;
/** The maximum number of problems that a context describes. All of them are counted. */
const MAX_PROBLEMS = 5;

/** The editor of the document that the user looked at last. The active editor may be the one of a task document. */
let lastEditor: vscode.TextEditor | undefined;

/** Remembers which document the user looked at last, until the result is disposed. */
export function watchEditors(): vscode.Disposable {
  const remember = (editor: vscode.TextEditor | undefined): void => {
    if (editor && isLookedAt(editor.document)) lastEditor = editor;
  };
  remember(vscode.window.activeTextEditor);
  return vscode.window.onDidChangeActiveTextEditor(remember);
}

/**
 * Returns the editor of the document that the user looks at: a file, a side of a diff of proposed changes, or an untitled
 * document. If the active editor shows none of these, returns the editor that last showed one, unless that is closed.
 */
export function documentEditor(): vscode.TextEditor | undefined {
  const active = vscode.window.activeTextEditor;
  if (active && isLookedAt(active.document)) return active;
  return lastEditor && !lastEditor.document.isClosed && isLookedAt(lastEditor.document) ? lastEditor : undefined;
}

/** Whether the task may be about this document. It is not about the document in which it is written. */
function isLookedAt({ uri, languageId }: vscode.TextDocument): boolean {
  return shownFile(uri) !== undefined || (uri.scheme === "untitled" && languageId !== "fairlead-task");
}

/** The file that the user is looking at, with its visible and its selected range. */
interface ActiveFile {
  readonly uri: vscode.Uri;
  readonly visible?: vscode.Range | undefined;
  readonly selection?: vscode.Range | undefined;
}

/**
 * Returns the file that `documentEditor` shows. Undefined if it shows none, or one outside of the workspace, because the
 * agent does not learn of such a file.
 */
export function activeFile(): ActiveFile | undefined {
  const editor = documentEditor();
  const uri = editor && shownFile(editor.document.uri);
  if (!uri || !vscode.workspace.getWorkspaceFolder(uri)) return undefined;
  // the base text of a proposal is not the text of the file, so its line numbers would be wrong
  if (editor.document.uri.scheme === scheme.base) return { uri };
  const { visibleRanges, selection } = editor;
  const [first, last] = [visibleRanges[0], visibleRanges.at(-1)];
  return { uri, visible: first && last && first.union(last), selection: selection.isEmpty ? undefined : selection };
}

/** What the user does not want to send with a task: the whole context of the editor, or only the selection. */
export type Omission = "editor" | "selection";

/**
 * Returns what the user is looking at, without the selection if that is omitted. If `editor` is omitted, the caller
 * must not send a context at all.
 */
export function editorContext(omitted: readonly Omission[] = []): EditorContext {
  const file = activeFile();
  const openFiles = openUris();
  return {
    activeFile: file?.uri.toString() ?? null,
    visibleRange: file?.visible ? toWireRange(file.visible) : null,
    selection: file?.selection && !omitted.includes("selection") ? toWireRange(file.selection) : null,
    openFiles: openFiles.slice(0, MAX_OPEN).map(String),
    problems: problemsIn(file ? [...openFiles, file.uri] : openFiles),
    git: gitState(),
  };
}

/**
 * Returns the files in the tabs of text editors and diffs, without duplicates. For a diff, that is the file of its
 * right side.
 */
export function openUris(): vscode.Uri[] {
  const uris = allTabs().flatMap(({ input }) => {
    if (input instanceof vscode.TabInputText) return [input.uri];
    return input instanceof vscode.TabInputTextDiff ? [input.modified] : [];
  });
  const files = uris.map(shownFile).filter((uri) => uri !== undefined);
  return [...new Map(files.map((uri) => [uri.toString(), uri])).values()];
}

/**
 * Returns the file that a document shows: itself, or the file of a side of a diff of proposed changes. Undefined for
 * any other document.
 */
function shownFile(uri: vscode.Uri): vscode.Uri | undefined {
  if (uri.scheme === "file") return uri;
  const side = parseDiffUri(uri);
  return side && vscode.Uri.from({ scheme: "file", path: side.path });
}

function problemsIn(files: readonly vscode.Uri[]): EditorContext["problems"] {
  const unique = new Map(files.map((uri) => [uri.toString(), uri]));
  const all = [...unique].flatMap(([uri, file]) =>
    vscode.languages.getDiagnostics(file).map((found) => ({ uri, problem: toWireDiagnostic(found) })),
  );
  const count = (wanted: number): number => all.filter(({ problem }) => problem.severity === wanted).length;
  const worst = all
    .filter(({ problem }) => problem.severity <= 2)
    .sort((a, b) => a.problem.severity - b.problem.severity)
    .slice(0, MAX_PROBLEMS);
  return { errors: count(1), warnings: count(2), files: worst.map(({ uri, problem }) => asFile(uri, problem)) };
}

const asFile = (uri: string, problem: Diagnostic): { uri: string; diagnostics: Diagnostic[] } => ({
  uri,
  diagnostics: [problem],
});

export function toWireRange({ start, end }: vscode.Range): Range {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}
