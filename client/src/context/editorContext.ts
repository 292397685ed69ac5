// Describes what the user is looking at, for a task.

import * as vscode from "vscode";
import type { EditorContext, EditorProblems } from "../wire/protocol";
import type { Diagnostic, Range } from "../wire/protocolStates";
import { gitState } from "./git";
import { activeTab, allTabs, urisOfTab } from "../ui/window";
import { gitVersion, hasLinesOfFile, isWorkedOn } from "./shownParts";

/** The maximum number of open files in a context. */
const MAX_OPEN = 100;
/** The maximum number of problems that a context describes. All of them are counted. */
const MAX_PROBLEMS = 5;
/** The scheme of the documents in the cells of notebooks. */
const CELL_SCHEME = "vscode-notebook-cell";

/** What the user looks at. */
export interface Shown {
  /** The URI of the text document, of the notebook, or of the file in another kind of editor. */
  readonly uri: vscode.Uri;
  /** The text editor, which may be that of a cell of the notebook. */
  readonly editor?: vscode.TextEditor | undefined;
  readonly notebook?: vscode.NotebookEditor | undefined;
}

/** What the user looked at last. The active editor may be the one of a task document. */
let last: Shown | undefined;

/** Remembers what the user looked at last, until the result is disposed. */
export function watchEditors(): vscode.Disposable {
  const remember = (): void => {
    last = inFront() ?? last;
  };
  remember();
  return vscode.Disposable.from(
    vscode.window.onDidChangeActiveTextEditor(remember),
    vscode.window.onDidChangeActiveNotebookEditor(remember),
    vscode.window.tabGroups.onDidChangeTabs(remember),
  );
}

/**
 * Returns what the user looks at: a text document, such as a file or a side of a diff, a notebook, or a file in another
 * kind of editor. If something else is in front, such as the conversation, returns what was in front before, unless that
 * is closed.
 */
export function shownNow(): Shown | undefined {
  return inFront() ?? (last && isOpen(last) ? last : undefined);
}

function inFront(): Shown | undefined {
  const { activeTextEditor: editor, activeNotebookEditor: notebook } = vscode.window;
  if (notebook) {
    const isCell = editor && cellOf(editor.document)?.notebook === notebook.notebook;
    return { uri: notebook.notebook.uri, notebook, editor: isCell ? editor : undefined };
  }
  if (editor) return isWorkedOn(editor.document) ? { uri: editor.document.uri, editor } : undefined;
  const input = activeTab()?.input;
  return input instanceof vscode.TabInputCustom ? { uri: input.uri } : undefined;
}

function isOpen({ uri, editor, notebook }: Shown): boolean {
  if (notebook) return !notebook.notebook.isClosed;
  if (editor) return !editor.document.isClosed && isWorkedOn(editor.document);
  return allTabs().some(
    ({ input }) => input instanceof vscode.TabInputCustom && input.uri.toString() === uri.toString(),
  );
}

/** Returns the cell of a notebook that a document is; undefined for any other document. */
export function cellOf(document: vscode.TextDocument): vscode.NotebookCell | undefined {
  if (document.uri.scheme !== CELL_SCHEME) return undefined;
  const cells = vscode.workspace.notebookDocuments.flatMap((notebook) => notebook.getCells());
  return cells.find((cell) => cell.document === document);
}

/** The file that the user is looking at. */
interface ActiveFile {
  readonly uri: vscode.Uri;
  /** The visible and the selected range in the document that shows the file. */
  readonly visible?: vscode.Range | undefined;
  readonly selection?: vscode.Range | undefined;
  /** Whether these are ranges of the file as the agent reads it. */
  readonly hasLinesOfFile: boolean;
}

/**
 * Returns the file that `shownNow` shows. Undefined if it shows none, or one outside of the workspace, because the
 * agent does not learn of such a file. `sessionId` is the agent's session, if it exists already.
 */
export function activeFile(sessionId?: string): ActiveFile | undefined {
  const shown = shownNow();
  const uri = shown && shownFile(shown.uri);
  if (!uri || !vscode.workspace.getWorkspaceFolder(uri)) return undefined;
  const { editor } = shown;
  if (!editor) return { uri, hasLinesOfFile: false };
  const { document, visibleRanges, selection } = editor;
  const [first, end] = [visibleRanges[0], visibleRanges.at(-1)];
  return {
    uri,
    visible: first && end && first.union(end),
    selection: selection.isEmpty ? undefined : selection,
    hasLinesOfFile: hasLinesOfFile(document.uri, sessionId) && !(document.isDirty && document.uri.scheme !== "file"),
  };
}

/** Whether the agent may learn what the user is looking at. */
export function isEditorContextOn(): boolean {
  return vscode.workspace.getConfiguration("fairlead").get<boolean>("context.editor", true);
}

/** What the user does not want to send with a task: the whole context of the editor, or only the selection. */
export type Omission = "editor" | "selection";

/**
 * Returns what the user is looking at for a session, without the selection if that is omitted. If `editor` is omitted,
 * the caller must not send a context at all.
 */
export function editorContext(sessionId: string, omitted: readonly Omission[] = []): EditorContext {
  const file = activeFile(sessionId);
  const lines = file?.hasLinesOfFile ? file : undefined;
  const openFiles = openUris();
  return {
    activeFile: file?.uri.toString() ?? null,
    visibleRange: lines?.visible ? toWireRange(lines.visible) : null,
    selection: lines?.selection && !omitted.includes("selection") ? toWireRange(lines.selection) : null,
    openFiles: openFiles.slice(0, MAX_OPEN).map(String),
    problems: problemsIn(file ? [...openFiles, file.uri] : openFiles),
    git: gitState(),
  };
}

/** Returns the files in the tabs of editors and diffs, without duplicates. For a diff, that is the file of its right side. */
export function openUris(): vscode.Uri[] {
  const files = allTabs()
    .flatMap((tab) => urisOfTab(tab).slice(-1))
    .map(shownFile)
    .filter((uri) => uri !== undefined);
  return [...new Map(files.map((uri) => [uri.toString(), uri])).values()];
}

/**
 * Returns the file that a document shows: itself, or the file of which it shows a part or another version. The paths of
 * such documents are those of their files. Undefined for any other document.
 */
export function shownFile(uri: vscode.Uri): vscode.Uri | undefined {
  if (uri.scheme === "file") return uri;
  if (uri.scheme === "untitled") return undefined;
  const git = gitVersion(uri);
  const file = git
    ? vscode.Uri.file(git.path)
    : uri.path.startsWith("/") && vscode.Uri.from({ scheme: "file", path: uri.path });
  return file && vscode.workspace.getWorkspaceFolder(file) ? file : undefined;
}

function problemsIn(files: readonly vscode.Uri[]): EditorProblems {
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

export function toWireDiagnostic({ range, severity, message, source }: vscode.Diagnostic): Diagnostic {
  // VS Code counts severities from 0, LSP from 1
  return { range: toWireRange(range), severity: severity + 1, message, source: source ?? null };
}
