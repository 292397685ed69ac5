// Applies the edits of the user's decisions, such as accepts and undos. Can then save the files that had no unsaved
// changes before (docs/protocol.md, Standard LSP).

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { ApplyWorkspaceEditResult, TextDocumentEdit, WorkspaceEdit } from "vscode-languageclient/node";
import { mismatchReason, type ApplyEditParams } from "./digests";
import { notebookReason } from "./notebooks";
import { unsavableReason } from "./savable";
import { allTabs } from "../ui/window";

type Change = NonNullable<WorkspaceEdit["documentChanges"]>[number];

/**
 * Applies a workspace edit. `saveAfter`: whether to save the edited files that had no unsaved changes before.
 *
 * `applied: false` always has a reason. If VS Code fails halfway, the part that it has applied is not undone.
 */
export async function applyEdit(params: ApplyEditParams, saveAfter: boolean): Promise<ApplyWorkspaceEditResult> {
  const changes = params.edit.documentChanges ?? [];
  const problem = (await firstUnsavable(changes)) ?? (await mismatchReason(params));
  if (problem !== undefined) return refused(problem);
  // no await between here and `applyEdit`, so that VS Code applies the edit to the document versions that were checked
  for (const change of changes) {
    const reason = refusalReason(change);
    if (reason !== undefined) return refused(reason);
  }
  const renamed = renamedUris(changes);
  const clean = cleanUris(changes, renamed);
  const tabs = new Set(
    allTabs()
      .map(textUri)
      .map((uri = "") => renamed.get(uri) ?? uri),
  );
  if (!(await vscode.workspace.applyEdit(workspaceEdit(changes))))
    return refused("VS Code did not apply the edit, or applied only a part of it.");
  if (saveAfter) await save(clean);
  await closeNewTabs(clean, tabs);
  return { applied: true };
}

/** Returns why VS Code could not save one of the new texts; undefined if it can save all of them. */
async function firstUnsavable(changes: readonly Change[]): Promise<string | undefined> {
  const created = createdUris(changes);
  const edits = changes.flatMap((change) =>
    "kind" in change || created.has(change.textDocument.uri) ? [] : unsavableReason(change),
  );
  return (await Promise.all(edits)).find((reason) => reason !== undefined);
}

/** The URIs of the files that the changes create, in the server's notation. */
function createdUris(changes: readonly Change[]): Set<string> {
  return new Set(changes.flatMap((change) => ("kind" in change && change.kind === "create" ? [change.uri] : [])));
}

function workspaceEdit(changes: readonly Change[]): vscode.WorkspaceEdit {
  const edit = new vscode.WorkspaceEdit();
  const created = createdUris(changes);
  for (const change of changes) {
    if (!("kind" in change)) {
      if (!created.has(change.textDocument.uri)) edit.set(vscode.Uri.parse(change.textDocument.uri), textEdits(change));
      continue;
    }
    switch (change.kind) {
      case "create": {
        // created with its content: a file that is filled later would stay open with unsaved changes
        const contents = Buffer.from(changes.map((other) => textFor(change.uri, other)).join(""));
        edit.createFile(vscode.Uri.parse(change.uri), { contents, overwrite: false, ignoreIfExists: false });
        break;
      }
      case "delete":
        edit.deleteFile(vscode.Uri.parse(change.uri), { recursive: false, ignoreIfNotExists: false });
        break;
      case "rename":
        edit.renameFile(vscode.Uri.parse(change.oldUri), vscode.Uri.parse(change.newUri), {
          overwrite: false,
          ignoreIfExists: false,
        });
        break;
    }
  }
  return edit;
}

/**
 * Returns why a change must not be applied; undefined if it may be. VS Code would apply it anyway, or refuse it without
 * a reason.
 */
function refusalReason(change: Change): string | undefined {
  const uris = urisOf(change);
  const notebook = uris.map(notebookReason).find((reason) => reason !== undefined);
  if (notebook !== undefined) return notebook;
  const [uri] = uris;
  const document = uri && openDocument(uri);
  if (!document) return undefined;
  if (!("kind" in change)) {
    const version = change.textDocument.version;
    const isUnknown = version === null ? document.isDirty : document.version !== version;
    return isUnknown ? t("{0} is being changed. Try again.", baseName(uri)) : undefined;
  }
  if (change.kind === "delete" && document.isDirty) {
    return t("{0} has unsaved changes, which would be lost. Save or revert it, then try again.", baseName(uri));
  }
  return undefined;
}

function urisOf(change: Change): vscode.Uri[] {
  if (!("kind" in change)) return [vscode.Uri.parse(change.textDocument.uri)];
  return (change.kind === "rename" ? [change.oldUri, change.newUri] : [change.uri]).map((uri) => vscode.Uri.parse(uri));
}

/** The new URIs of renamed files by their old URIs, in VS Code's notation. */
function renamedUris(changes: readonly Change[]): Map<string, string> {
  const normal = (uri: string) => vscode.Uri.parse(uri).toString();
  return new Map(
    changes.flatMap((change) =>
      "kind" in change && change.kind === "rename" ? [[normal(change.oldUri), normal(change.newUri)]] : [],
    ),
  );
}

/** The URIs, after any rename, of the edited files that have no unsaved changes. */
function cleanUris(changes: readonly Change[], renamed: ReadonlyMap<string, string>): vscode.Uri[] {
  return changes.flatMap((change) => {
    if ("kind" in change) return [];
    const uri = vscode.Uri.parse(change.textDocument.uri);
    return openDocument(uri)?.isDirty === true ? [] : [vscode.Uri.parse(renamed.get(uri.toString()) ?? uri.toString())];
  });
}

/** Saves all files at once, because VS Code soon opens a tab for each changed file that is not being saved. */
async function save(uris: readonly vscode.Uri[]): Promise<void> {
  const changed = uris.flatMap((uri) => openDocument(uri) ?? []).filter(({ isDirty }) => isDirty);
  await Promise.all(changed.map((document) => document.save()));
}

/** Closes the tabs that VS Code opened in the background because the files were not saved in time. */
async function closeNewTabs(uris: readonly vscode.Uri[], before: ReadonlySet<string>): Promise<void> {
  const saved = new Set(uris.map(String));
  const opened = allTabs().filter((tab) => {
    const uri = textUri(tab);
    return uri !== undefined && saved.has(uri) && !before.has(uri) && !tab.isDirty && !tab.isActive;
  });
  if (opened.length > 0) await vscode.window.tabGroups.close(opened, true);
}

const textUri = ({ input }: vscode.Tab): string | undefined =>
  input instanceof vscode.TabInputText ? input.uri.toString() : undefined;

function openDocument(uri: vscode.Uri): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
}

/** Returns the text that a change puts into a new file; empty if the change is about something else. */
function textFor(uri: string, change: Change): string {
  if ("kind" in change || change.textDocument.uri !== uri) return "";
  return change.edits.map((one) => ("newText" in one ? one.newText : "")).join("");
}

function textEdits({ textDocument, edits }: TextDocumentEdit): vscode.TextEdit[] {
  const found = edits.flatMap((one) => {
    if (!("newText" in one)) return [];
    const { start, end } = one.range;
    return [new vscode.TextEdit(new vscode.Range(start.line, start.character, end.line, end.character), one.newText)];
  });
  const eol = newEndOfLine(openDocument(vscode.Uri.parse(textDocument.uri)), found);
  return eol === undefined ? found : [...found, vscode.TextEdit.setEndOfLine(eol)];
}

/**
 * Returns the line ending that edits give to all lines of a document; undefined if it stays the same or would differ
 * between lines. It must be set, because VS Code gives new lines the document's current line ending.
 */
function newEndOfLine(
  document: vscode.TextDocument | undefined,
  edits: readonly vscode.TextEdit[],
): vscode.EndOfLine | undefined {
  const replaced = edits.reduce((count, { range }) => count + range.end.line - range.start.line, 0);
  if (!document || replaced < document.lineCount - 1) return undefined;
  const endings = new Set(edits.flatMap(({ newText }) => newText.match(/\r?\n/g) ?? []));
  const eol = endings.has("\n") ? vscode.EndOfLine.LF : vscode.EndOfLine.CRLF;
  return endings.size === 1 && eol !== document.eol ? eol : undefined;
}

const baseName = (uri: vscode.Uri): string => uri.path.split("/").at(-1) ?? "";
const refused = (failureReason: string): ApplyWorkspaceEditResult => ({ applied: false, failureReason });
