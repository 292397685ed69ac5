// Tasks that the user starts in an editor: on the selection, on problems, and questions about the code at the cursor.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { numbered } from "../ui/format";
import type { ContextItem } from "../protocol";
import { relative } from "../review/editsView";
import type { Runs } from "../sessions/runs";
import { explainPrompt, fixPrompt, linesText, merged, problemsToFix, type Lines, type Problem } from "./taskTexts";

const SELECTOR = { scheme: "file" };

export class EditorTasks implements vscode.CodeActionProvider, vscode.Disposable {
  private readonly registered: vscode.Disposable;

  constructor(private readonly runs: Runs) {
    this.registered = vscode.languages.registerCodeActionsProvider(SELECTOR, this, {
      providedCodeActionKinds: [vscode.CodeActionKind.QuickFix],
    });
  }

  /** Asks for a task and runs it on the selection. */
  async runOnSelection(): Promise<void> {
    const editor = activeEditor();
    const places = editor ? selectedLines(editor) : [];
    if (!editor || places.length === 0) {
      void vscode.window.showInformationMessage(t("Select the code that the task is about first."));
      return;
    }
    const name = relative(editor.document.uri.toString()).split("/").at(-1) ?? "";
    const title = t("Agent: Run Task on {0}", `${name}, ${linesText(places)}`);
    await this.runs.runOn(contextOf(editor.document, places), { title });
  }

  /** Asks the agent to explain the selection, else the symbol at the cursor, else the line. */
  async explain(): Promise<void> {
    const editor = activeEditor();
    if (!editor) {
      void vscode.window.showInformationMessage(t("Open a file of the workspace first."));
      return;
    }
    const { document, selection } = editor;
    const selected = selectedLines(editor);
    const word = selected.length === 0 ? document.getWordRangeAtPosition(selection.active) : undefined;
    const places = selected.length > 0 ? selected : [{ start: selection.active.line, end: selection.active.line }];
    const prompt = explainPrompt(relative(document.uri.toString()), places, word && document.getText(word));
    await this.runs.runOn(contextOf(document, places), { prompt }, "ask");
  }

  /** Runs a task that fixes problems in a document. */
  async fix(document: vscode.TextDocument, problems: readonly vscode.Diagnostic[]): Promise<void> {
    const found = problems.map((problem) => ({ ...toProblem(problem), problem }));
    const places = problemsToFix(found).map(({ problem: { range } }) => linesOf(range));
    const prompt = fixPrompt(relative(document.uri.toString()), found);
    await this.runs.runOn(contextOf(document, merged(places)), { prompt });
  }

  provideCodeActions(
    document: vscode.TextDocument,
    _: vscode.Range,
    { diagnostics }: vscode.CodeActionContext,
  ): vscode.CodeAction[] {
    const problems = diagnostics.filter(({ severity }) => severity !== vscode.DiagnosticSeverity.Hint);
    if (problems.length === 0 || !canRunOn(document)) return [];
    const title = numbered(problems.length, t("Fix with Agent"), t("Fix {0} Problems with Agent", problems.length));
    const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
    action.diagnostics = problems;
    action.command = { command: "fairlead.fix", title, arguments: [document, problems] };
    return [action];
  }

  dispose(): void {
    this.registered.dispose();
  }
}

/** The active text editor, if its file can be part of a task. */
function activeEditor(): vscode.TextEditor | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && canRunOn(editor.document) ? editor : undefined;
}

function canRunOn({ uri }: vscode.TextDocument): boolean {
  return uri.scheme === "file" && vscode.workspace.isTrusted && vscode.workspace.getWorkspaceFolder(uri) !== undefined;
}

function selectedLines({ selections }: vscode.TextEditor): Lines[] {
  return merged(selections.filter(({ isEmpty }) => !isEmpty).map(linesOf));
}

/** A range that ends at the start of a line does not contain that line. */
function linesOf({ start, end }: vscode.Range): Lines {
  return { start: start.line, end: end.character === 0 && end.line > start.line ? end.line - 1 : end.line };
}

/** The places as `agent/runTask` takes them. */
function contextOf({ uri }: vscode.TextDocument, places: readonly Lines[]): ContextItem[] {
  return places.map(({ start, end }) => ({
    uri: uri.toString(),
    range: { start: { line: start, character: 0 }, end: { line: end + 1, character: 0 } },
  }));
}

function toProblem({ range, message, source, code }: vscode.Diagnostic): Problem {
  const shown = typeof code === "object" ? code.value : code;
  return { line: range.start.line, message, source, code: shown === undefined ? undefined : String(shown) };
}
