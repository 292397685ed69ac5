// The editor's diagnostics of the user's files, for the agent (docs/protocol.md, agent/editor/...).

import * as vscode from "vscode";
import type { DiagnosticsParams, DiagnosticsResult } from "../../wire/protocol";
import { toWireDiagnostic } from "../../context/editorContext";
import { Analyses } from "./analysis";
import { joined, typeScriptProblems } from "./typescript";

const analyses = new Analyses((onReport) =>
  vscode.languages.onDidChangeDiagnostics(({ uris }) => {
    onReport(uris.map(String));
  }),
);

/**
 * Returns the diagnostics that VS Code shows for a file, or would show if the file were open in a tab. If `uri` is
 * null, returns the current diagnostics of all files.
 */
export async function diagnostics({ uri }: DiagnosticsParams): Promise<DiagnosticsResult> {
  if (uri === null) {
    const all = vscode.languages.getDiagnostics().filter(([file, found]) => file.scheme === "file" && found.length > 0);
    return { files: all.map(([file, found]) => ({ uri: file.toString(), diagnostics: found.map(toWireDiagnostic) })) };
  }
  const file = vscode.Uri.parse(uri);
  const { languageId } = await openFile(file);
  const ask = (request: string): Thenable<unknown> =>
    vscode.commands.executeCommand("typescript.tsserverRequest", request, { file });
  const [ofTypeScript] = await Promise.all([typeScriptProblems(languageId, ask), waitForDiagnostics(file)]);
  const shown = vscode.languages.getDiagnostics(file).map(toWireDiagnostic);
  return { files: [{ uri, diagnostics: joined(shown, ofTypeScript) }] };
}

/**
 * Opens a file without showing it. If it was closed, starts its analysis, for `waitForDiagnostics`. Rejects if the file
 * cannot be opened.
 */
export async function openFile(file: vscode.Uri): Promise<vscode.TextDocument> {
  if (!vscode.workspace.textDocuments.some(({ uri }) => uri.toString() === file.toString()))
    analyses.begin(file.toString());
  return vscode.workspace.openTextDocument(file);
}

/** Opens a file, and waits for its diagnostics if it was opened just now. Rejects if it cannot be opened. */
export async function waitForDiagnostics(file: vscode.Uri): Promise<void> {
  await openFile(file);
  await analyses.whenEnded(file.toString());
}
