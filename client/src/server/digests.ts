// Whether files still are what an edit was made for (docs/protocol.md, Standard LSP): bytes on disk, and what VS Code read of them.

import { createHash } from "node:crypto";
import * as vscode from "vscode";
import { messageOf } from "./errors";
import type { ApplyEditParams } from "../protocol";

/**
 * Says which file is not what it should be; undefined if all are.
 *
 * Files whose text changes are loaded first, so that the text that is checked is the one that VS Code changes.
 */
export async function changedOnDisk({ digests = {}, edit }: ApplyEditParams): Promise<string | undefined> {
  const edits = (edit.documentChanges ?? []).flatMap((change) => ("kind" in change ? [] : [change.textDocument]));
  const versions = new Map(edits.map(({ uri, version }) => [uri, version]));
  const found = await Promise.all(
    Object.entries(digests).map(([uri, digest]) => mismatch(vscode.Uri.parse(uri), digest, versions.get(uri))),
  );
  return found.find((one) => one !== undefined);
}

/** `version` is what the server knows of an edited document: null where it is closed, undefined where the text stays. */
async function mismatch(
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
    return `${name} cannot be read: ${messageOf(error)}`;
  }
  if (createHash("sha256").update(bytes).digest("hex") !== digest) return `${name} changed at the same time.`;
  // a document that the server does not know may hold what the file said a moment ago
  const isStale = document !== undefined && !isKnown && document.getText() !== new TextDecoder().decode(bytes);
  return isStale
    ? `VS Code shows another text for ${name} than the file has. Open or reload it, then accept again.`
    : undefined;
}
