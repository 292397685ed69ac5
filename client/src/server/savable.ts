// Whether VS Code can save the new text of a file. If it cannot, it applies an edit anyway and loses the text later
// (docs/protocol.md, Standard LSP).

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { visibleText } from "../ui/shownText";
import type { TextDocumentEdit } from "vscode-languageclient/node";

/** Part of VS Code's API since version 1.100. */
interface Encoder {
  readonly encode?: (content: string, options: { readonly encoding: string }) => Thenable<Uint8Array>;
}
type EncodedDocument = vscode.TextDocument & { readonly encoding?: string };

/**
 * Returns why VS Code would lose the new text of an existing file; undefined if it can save it, or if the file cannot
 * be opened. Opens the file as a document.
 */
export async function unsavableReason({ textDocument, edits }: TextDocumentEdit): Promise<string | undefined> {
  if (edits.length === 0) return undefined;
  const uri = vscode.Uri.parse(textDocument.uri);
  const document = await Promise.resolve(vscode.workspace.openTextDocument(uri)).catch(() => undefined);
  if (!document) return undefined;
  const text = edits.map((one) => ("newText" in one ? one.newText : "")).join("");
  return (await readOnlyReason(document)) ?? encodingProblem(document, nameOf(document), text);
}

/** Returns why VS Code would not save changes of a document; undefined if it is not read-only. */
export async function readOnlyReason(document: vscode.TextDocument): Promise<string | undefined> {
  // saving a clean document does nothing, and returns false if VS Code treats it as read-only, because then no edit
  // makes it dirty
  const saved = document.isDirty || (await Promise.resolve(document.save()).catch(() => undefined));
  // neither a failure nor a document that was closed in the meantime tells whether the file is read-only
  return saved === false && !document.isClosed
    ? t("{0} is read-only in VS Code. Make it writable, then try again.", nameOf(document))
    : undefined;
}

const nameOf = ({ uri }: vscode.TextDocument): string => uri.path.split("/").at(-1) ?? "";

/**
 * Returns which characters VS Code would save as `?`, because the document's encoding cannot represent them; undefined
 * if there are none, or if VS Code is too old to tell.
 */
async function encodingProblem(document: EncodedDocument, name: string, text: string): Promise<string | undefined> {
  const { encoding } = document;
  const workspace = vscode.workspace as Encoder;
  const characters = [...new Set(text.replace(/\p{ASCII}/gu, ""))];
  if (!workspace.encode || !encoding || encoding.startsWith("utf") || characters.length === 0) return undefined;
  // in these encodings, no other character contains the byte of a line feed or of `?`
  const bytes = Buffer.from(await workspace.encode(characters.join("\n"), { encoding }));
  const saved = bytes.toString("latin1").split("\n");
  const lost = characters.filter((_, index) => saved[index]?.includes("?"));
  if (lost.length === 0) return undefined;
  return t(
    "{0} has the encoding {1}, which cannot represent {2}. Save it in UTF-8, then try again.",
    name,
    encoding,
    lost.slice(0, 5).map(visibleText).join(" "),
  );
}
