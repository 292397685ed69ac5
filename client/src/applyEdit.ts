// Applies the edits that the person accepted, and saves the files that were clean before (docs/protocol.md, Saving).

import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams, ApplyWorkspaceEditResult, TextDocumentEdit } from "vscode-languageclient/node";

/** Applies one workspace edit; `applied: false` always says why. */
export async function applyEdit(params: ApplyWorkspaceEditParams, saveAfter: boolean): Promise<ApplyWorkspaceEditResult> {
  const edit = new vscode.WorkspaceEdit();
  const clean: vscode.Uri[] = [];
  const contents = new Map<string, string>();
  const changes = params.edit.documentChanges ?? [];
  for (const change of changes) {
    if ("kind" in change) continue;
    contents.set(change.textDocument.uri, change.edits.map((one) => ("newText" in one ? one.newText : "")).join(""));
  }
  for (const change of changes) {
    if ("kind" in change) {
      if (change.kind !== "create") return refused(`This version cannot ${change.kind} files.`);
      const uri = vscode.Uri.parse(change.uri);
      // with its content at once: a file made first and filled then would stay open, changed and unsaved
      edit.createFile(uri, { contents: Buffer.from(contents.get(change.uri) ?? ""), overwrite: false, ignoreIfExists: false });
      contents.delete(change.uri);
      continue;
    }
    const uri = vscode.Uri.parse(change.textDocument.uri);
    if (changes.some((other) => "kind" in other && other.kind === "create" && other.uri === change.textDocument.uri)) continue;
    const reason = unfit(uri, change);
    if (reason !== undefined) return refused(reason);
    if (openDocument(uri)?.isDirty !== true) clean.push(uri);
    edit.set(uri, change.edits.flatMap((one) => ("newText" in one ? [textEdit(one)] : [])));
  }
  if (!(await vscode.workspace.applyEdit(edit))) return refused("VS Code did not apply the edit.");
  if (saveAfter) await save(clean);
  return { applied: true };
}

function unfit(uri: vscode.Uri, change: TextDocumentEdit): string | undefined {
  const name = uri.path.split("/").at(-1) ?? "";
  if (vscode.workspace.notebookDocuments.some((notebook) => notebook.uri.toString() === uri.toString())) {
    return `${name} is open as a notebook. Close it, then accept again.`;
  }
  const document = openDocument(uri);
  const version = change.textDocument.version;
  if (document && version !== null && document.version !== version) return `${name} is being changed. Try again.`;
  return undefined;
}

async function save(uris: readonly vscode.Uri[]): Promise<void> {
  for (const uri of uris) {
    const document = openDocument(uri);
    if (document?.isDirty) await document.save();
  }
}

function openDocument(uri: vscode.Uri): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
}

function textEdit({ range, newText }: { range: { start: Position; end: Position }; newText: string }): vscode.TextEdit {
  return new vscode.TextEdit(new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character), newText);
}

interface Position {
  readonly line: number;
  readonly character: number;
}

const refused = (failureReason: string): ApplyWorkspaceEditResult => ({ applied: false, failureReason });
