// The tasks that the user starts in an editor or a terminal: a task on the selection, fixing problems or a failed command,
// and explaining the code at the cursor.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { oneOrMany } from "../../ui/format";
import type { ContextItem, Mode } from "../../wire/protocol";
import { linesItem, nameForAgent } from "../../context/contextItems";
import { failedCommand } from "../../context/terminalCommands";
import { shownFile, toWireRange } from "../../context/editorContext";
import { workspacePath } from "../../ui/folders";
import { lineRangeOf, linesLabel, mergeRanges, type LineRange } from "../../context/lines";
import { explainPrompt, fixCommandPrompt, fixPrompt, problemsToFix, type Problem } from "./taskTexts";
import { showInformation } from "../../ui/show";

/** Runs a task about files or lines in a new session. If only a title is given, asks for the task. */
type RunOn = (
  context: readonly ContextItem[],
  task: { prompt: string } | { title: string },
  mode?: Mode,
) => Promise<void>;

const SELECTOR = { scheme: "file" };

export class EditorTasks implements vscode.CodeActionProvider, vscode.Disposable {
  private readonly registration: vscode.Disposable;

  constructor(private readonly runOn: RunOn) {
    this.registration = vscode.languages.registerCodeActionsProvider(SELECTOR, this, {
      providedCodeActionKinds: [vscode.CodeActionKind.QuickFix],
    });
  }

  /** Asks the user for a task and runs it on the selection or, without one, on the line of the cursor, in a new session. */
  async runOnSelection(): Promise<void> {
    const editor = activeEditor();
    if (!editor) {
      void showInformation(t("Open a file of the workspace first."));
      return;
    }
    const ranges = linesAt(editor);
    const name = shownPath(editor.document).split("/").at(-1) ?? "";
    const title = t("Agent: Ask or Change {0}", `${name}, ${linesLabel(ranges)}`);
    await this.runOn(contextOf(editor.document, ranges), { title });
  }

  /**
   * Asks the agent, in a new session, to explain the selection. Without a selection, asks about the symbol at the
   * cursor or, if there is none, about the line.
   */
  async explain(): Promise<void> {
    const editor = activeEditor();
    if (!editor) {
      void showInformation(t("Open a file of the workspace first."));
      return;
    }
    const { document, selection } = editor;
    const selected = selectedRanges(editor);
    const word = selected.length === 0 ? document.getWordRangeAtPosition(selection.active) : undefined;
    const ranges = linesAt(editor);
    const prompt = explainPrompt(nameForAgent(document), ranges, word && document.getText(word));
    await this.runOn(contextOf(document, ranges), { prompt }, "ask");
  }

  /** Runs a task that fixes problems in a document, in a new session. */
  async fix(document: vscode.TextDocument, problems: readonly vscode.Diagnostic[]): Promise<void> {
    const found = problems.map((problem) => ({ ...toProblem(problem), problem }));
    const ranges = problemsToFix(found).map(({ problem: { range } }) => lineRangeOf(range));
    const prompt = fixPrompt(shownPath(document), found);
    await this.runOn(contextOf(document, mergeRanges(ranges)), { prompt });
  }

  /** Runs a task that fixes the last command in the active terminal, in a new session. */
  async fixCommand(): Promise<void> {
    const failed = failedCommand();
    if (failed) await this.runOn([failed], { prompt: fixCommandPrompt(failed) });
    else void showInformation(t("The last command in this terminal has not failed."));
  }

  provideCodeActions(
    document: vscode.TextDocument,
    _: vscode.Range,
    { diagnostics }: vscode.CodeActionContext,
  ): vscode.CodeAction[] {
    const problems = diagnostics.filter(({ severity }) => severity !== vscode.DiagnosticSeverity.Hint);
    if (problems.length === 0 || !canRunOn(document)) return [];
    const title = oneOrMany(problems.length, t("Fix with Agent"), t("Fix {0} Problems with Agent", problems.length));
    const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
    action.diagnostics = problems;
    action.command = { command: "fairlead.fix", title, arguments: [document, problems] };
    return [action];
  }

  dispose(): void {
    this.registration.dispose();
  }
}

/** The active text editor, if its file can be part of a task. */
function activeEditor(): vscode.TextEditor | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && canRunOn(editor.document) ? editor : undefined;
}

/** Whether the document shows a file of the workspace: all of it, or a part or another version. */
function canRunOn({ uri }: vscode.TextDocument): boolean {
  const file = shownFile(uri);
  return vscode.workspace.isTrusted && file !== undefined && vscode.workspace.getWorkspaceFolder(file) !== undefined;
}

const shownPath = ({ uri }: vscode.TextDocument): string => workspacePath(shownFile(uri) ?? uri);

function selectedRanges({ selections }: vscode.TextEditor): LineRange[] {
  return mergeRanges(selections.filter(({ isEmpty }) => !isEmpty).map(lineRangeOf));
}

/** The selected lines; without a selection, that of the cursor. */
function linesAt(editor: vscode.TextEditor): LineRange[] {
  const selected = selectedRanges(editor);
  const { line } = editor.selection.active;
  return selected.length > 0 ? selected : [{ start: line, end: line }];
}

/** Returns a context item for `agent/runTask` for each range. */
function contextOf(document: vscode.TextDocument, ranges: readonly LineRange[]): ContextItem[] {
  return ranges.map(({ start, end }) => {
    const range = new vscode.Range(start, 0, end + 1, 0);
    const { uri } = document;
    return uri.scheme === "file" ? { uri: uri.toString(), range: toWireRange(range) } : linesItem(document, range);
  });
}

function toProblem({ range, message, source, code }: vscode.Diagnostic): Problem {
  const value = typeof code === "object" ? code.value : code;
  return { line: range.start.line, message, source, code: value === undefined ? undefined : String(value) };
}
