// Mentions in the document of a task of several lines: completion, and dropped or pasted files.

import * as vscode from "vscode";
import { workspacePath } from "../folders";
import { complete, completionsAt, type Completion } from "./completions";
import { mentionable } from "./contextItems";
import { pathMention, unfinishedMention } from "./mentions";

const SELECTOR = { language: "fairlead-task" };
const URI_LIST = "text/uri-list";
const KINDS: Record<Completion["kind"], vscode.CompletionItemKind> = {
  keyword: vscode.CompletionItemKind.Keyword,
  file: vscode.CompletionItemKind.File,
  folder: vscode.CompletionItemKind.Folder,
};

export function registerTaskDocuments(): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.languages.registerCompletionItemProvider(SELECTOR, { provideCompletionItems }, "#", "/"),
    vscode.languages.registerDocumentDropEditProvider(SELECTOR, {
      provideDocumentDropEdits: async (_document, _position, data) => {
        const text = await mentionsOf(data);
        return text === undefined ? undefined : new vscode.DocumentDropEdit(text);
      },
    }),
  );
}

async function provideCompletionItems(
  document: vscode.TextDocument,
  position: vscode.Position,
): Promise<vscode.CompletionList | undefined> {
  const line = document.lineAt(position).text.slice(0, position.character);
  const mention = unfinishedMention(line);
  if (!mention) return undefined;
  const range = new vscode.Range(position.with({ character: mention.start }), position);
  const items = completionsAt(line, await mentionable()).map((completion, index) => {
    const item = new vscode.CompletionItem(
      { label: completion.mention, description: completion.description },
      KINDS[completion.kind],
    );
    item.range = range;
    item.insertText = complete(line, completion).slice(mention.start);
    // VS Code would filter and sort by its own rules
    item.filterText = line.slice(mention.start);
    item.sortText = String(index).padStart(3, "0");
    return item;
  });
  return new vscode.CompletionList(items, true);
}

/** The dropped files of the workspace as mentions; undefined if there are none. */
async function mentionsOf(data: vscode.DataTransfer): Promise<string | undefined> {
  const list = (await data.get(URI_LIST)?.asString()) ?? "";
  const uris = list.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"));
  const paths = uris
    .map((uri) => vscode.Uri.parse(uri))
    .filter((uri) => vscode.workspace.getWorkspaceFolder(uri))
    .map(workspacePath);
  return paths.length > 0 ? `${paths.map(pathMention).join(" ")} ` : undefined;
}
