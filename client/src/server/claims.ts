// Which files VS Code must write itself, and which nobody can write now (docs/protocol.md, `agent/editor/claims`).

import * as vscode from "vscode";
import type { ClaimsParams, ClaimsResult } from "../wire/protocol";
import { allTabs, urisOfTab } from "../ui/window";
import { notebookReason } from "./notebooks";
import { readOnlyReason } from "./savable";

/**
 * Claims the files that are open in any editor, and those that VS Code would not save as UTF-8, or not save at all
 * (`saveAfter`).
 */
export async function claims({ uris }: ClaimsParams, saveAfter: boolean): Promise<ClaimsResult> {
  const shown = new Set(allTabs().flatMap(urisOfTab).map(String));
  const files = uris.map((uri) => ({ uri, parsed: vscode.Uri.parse(uri) }));
  const refused = await Promise.all(
    files.map(async ({ uri, parsed }) => ({ uri, reason: notebookReason(parsed) ?? (await configuredReason(parsed)) })),
  );
  const claimed = files.filter(({ parsed }) => !saveAfter || shown.has(parsed.toString()) || hasOwnEncoding(parsed));
  return {
    claimed: claimed.map(({ uri }) => uri),
    refused: refused.flatMap(({ uri, reason }) => (reason === undefined ? [] : [{ uri, reason }])),
  };
}

/** Returns why the settings make a file read-only; undefined if they do not. Opens the file only if they might. */
async function configuredReason(uri: vscode.Uri): Promise<string | undefined> {
  const files = vscode.workspace.getConfiguration("files", uri);
  const included = Object.keys(files.get<object>("readonlyInclude") ?? {});
  if (included.length === 0 && files.get("readonlyFromPermissions") !== true) return undefined;
  const document = await Promise.resolve(vscode.workspace.openTextDocument(uri)).catch(() => undefined);
  return document && readOnlyReason(document);
}

/** Whether the settings give a file, or the files of some language, another encoding than UTF-8. */
function hasOwnEncoding(uri: vscode.Uri): boolean {
  const files = vscode.workspace.getConfiguration("files", uri);
  const languages = files.inspect<string>("encoding")?.languageIds ?? [];
  const scopes = languages.map((languageId) => vscode.workspace.getConfiguration("files", { uri, languageId }));
  const encodings = [files, ...scopes].map((scope) => scope.get<string>("encoding") ?? "utf8");
  return files.get("autoGuessEncoding") === true || encodings.some((encoding) => !encoding.startsWith("utf8"));
}
