// Whether files still have the content that an edit is based on (docs/protocol.md, Standard LSP).

import { t } from "@vscode/l10n";
import { createHash } from "node:crypto";
import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams } from "vscode-languageclient/node";
import { messageOf } from "./errors";
import type { ApplyEditDigests } from "../wire/protocol";

export type ApplyEditParams = ApplyWorkspaceEditParams & ApplyEditDigests;

/**
 * Returns why a file does not match its digest or cannot be read; undefined if all files match. A file with unsaved
 * changes is not compared, because the edit names the version of its document.
 *
 * Also opens a document for each file whose text the edit changes, to check the text that VS Code will change.
 */
export async function mismatchReason({ digests = {}, edit }: ApplyEditParams): Promise<string | undefined> {
  const edits = (edit.documentChanges ?? []).flatMap((change) => ("kind" in change ? [] : [change.textDocument]));
  const versions = new Map(edits.map(({ uri, version }) => [uri, version]));
  const found = await Promise.all(
    Object.entries(digests).map(([uri, digest]) => fileMismatch(vscode.Uri.parse(uri), digest, versions.get(uri))),
  );
  return found.find((one) => one !== undefined);
}

/**
 * Returns why one file does not match or cannot be read; undefined if it matches or has unsaved changes. `version` is
 * the version of the document in the edit: null if the server considers the document closed, undefined if the edit does
 * not change the text.
 */
async function fileMismatch(
  uri: vscode.Uri,
  digest: string,
  version: number | null | undefined,
): Promise<string | undefined> {
  const name = uri.path.split("/").at(-1) ?? "";
  let document = vscode.workspace.textDocuments.find((other) => other.uri.toString() === uri.toString());
  if (document?.isDirty) return undefined;
  const isKnown = document !== undefined && version !== null;
  let bytes: Uint8Array;
  try {
    if (version !== undefined) document ??= await vscode.workspace.openTextDocument(uri);
    bytes = await vscode.workspace.fs.readFile(uri);
  } catch (error) {
    return t("{0} cannot be read: {1}", name, messageOf(error));
  }
  if (createHash("sha256").update(bytes).digest("hex") !== digest)
    return t("{0} has changed since Fairlead read it.", name);
  // a document that the server does not know may contain an older text of the file
  const isStale = document !== undefined && !isKnown && document.getText() !== new TextDecoder().decode(bytes);
  return isStale ? t("{0} has a different text in VS Code than on disk. Reopen it, then try again.", name) : undefined;
}
