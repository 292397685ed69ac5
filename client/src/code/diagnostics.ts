// The editor's diagnostics of the user's files, for the agent (docs/protocol.md, agent/editor/...).

import * as vscode from "vscode";
import type { DiagnosticsParams, DiagnosticsResult } from "../protocol";
import type { Diagnostic } from "../protocolStates";

/** How long to wait for the diagnostics of a file that was not open, in milliseconds. */
const ANALYSIS_LIMIT = 3000;

/**
 * Returns the diagnostics as VS Code shows them: of one file, which is opened first if it is closed, so that they are
 * computed. If `uri` is null, returns those of all files that have any now.
 */
export async function diagnostics({ uri }: DiagnosticsParams): Promise<DiagnosticsResult> {
  if (uri === null) {
    const all = vscode.languages.getDiagnostics().filter(([file, found]) => file.scheme === "file" && found.length > 0);
    return { files: all.map(([file, found]) => ({ uri: file.toString(), diagnostics: found.map(toWireDiagnostic) })) };
  }
  const file = vscode.Uri.parse(uri);
  await waitForDiagnostics(file);
  return { files: [{ uri, diagnostics: vscode.languages.getDiagnostics(file).map(toWireDiagnostic) }] };
}

/**
 * Opens a file without showing it, and waits for its diagnostics, at most `ANALYSIS_LIMIT`: a file without problems may
 * never get any. Does nothing if the file is open. Rejects if it cannot be opened.
 */
export async function waitForDiagnostics(file: vscode.Uri): Promise<void> {
  const isThisFile = (other: vscode.Uri): boolean => other.toString() === file.toString();
  if (vscode.workspace.textDocuments.some(({ uri }) => isThisFile(uri))) return;
  const reported = new Promise<void>((resolve) => {
    const timer = setTimeout(done, ANALYSIS_LIMIT);
    const subscription = vscode.languages.onDidChangeDiagnostics(({ uris }) => {
      if (uris.some(isThisFile)) done();
    });
    function done(): void {
      clearTimeout(timer);
      subscription.dispose();
      resolve();
    }
  });
  await vscode.workspace.openTextDocument(file);
  await reported;
}

export function toWireDiagnostic({ range, severity, message, source }: vscode.Diagnostic): Diagnostic {
  const at = ({ line, character }: vscode.Position): { line: number; character: number } => ({ line, character });
  // VS Code counts severities from 0, LSP from 1
  return {
    range: { start: at(range.start), end: at(range.end) },
    severity: severity + 1,
    message,
    source: source ?? null,
  };
}
