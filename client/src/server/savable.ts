// Whether VS Code can save the new text of a file. If it cannot, it applies an edit anyway and loses the text later
// (docs/protocol.md, Standard LSP).

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { TextDocumentEdit } from "vscode-languageclient/node";

/**
 * Returns why VS Code would lose the new text of an existing file; undefined if it can save it, or if the file cannot
 * be opened. Opens the file as a document.
 */
export async function unsavableReason({ textDocument, edits }: TextDocumentEdit): Promise<string | undefined> {
  if (edits.length === 0) return undefined;
  const uri = vscode.Uri.parse(textDocument.uri);
  const name = uri.path.split("/").at(-1) ?? "";
  const document = await Promise.resolve(vscode.workspace.openTextDocument(uri)).catch(() => undefined);
  // saving a clean document does nothing, and fails only if VS Code treats it as read-only: then no edit makes it dirty
  const isReadOnly = document?.isDirty === false && !(await document.save());
  return isReadOnly ? t("{0} is read-only in VS Code. Make it writable, then try again.", name) : undefined;
}
