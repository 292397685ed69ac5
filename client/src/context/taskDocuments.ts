// Mentions in the document of a multi-line task: VS Code completes them, and inserts one for each file that is dropped.

import * as vscode from "vscode";
import { applyCompletion, completionsAt, type Completion, type Mentionable } from "./completions";
import { mentionableAtEachKey, mentionsOf } from "./contextItems";
import { completionItem } from "../ui/show";
import { unfinishedMention, urisIn } from "./mentions";
import type { ServerOffer } from "../wire/protocolStates";

const SELECTOR = { language: "fairlead-task" };
const URI_LIST = "text/uri-list";
const KINDS: Record<Completion["kind"], vscode.CompletionItemKind> = {
  keyword: vscode.CompletionItemKind.Keyword,
  file: vscode.CompletionItemKind.File,
  folder: vscode.CompletionItemKind.Folder,
  resource: vscode.CompletionItemKind.Reference,
};

/** `offers` returns what the tool servers offer. */
export function registerTaskDocuments(offers: () => Promise<readonly ServerOffer[]>): vscode.Disposable {
  const mentionable = mentionableAtEachKey(offers);
  const provideCompletionItems: vscode.CompletionItemProvider["provideCompletionItems"] = (document, position) =>
    completionItems(document, position, mentionable);
  return vscode.Disposable.from(
    vscode.languages.registerCompletionItemProvider(SELECTOR, { provideCompletionItems }, "#", "/"),
    vscode.languages.registerDocumentDropEditProvider(SELECTOR, {
      provideDocumentDropEdits: async (document, position, data) => {
        const text = mentionsOf(urisIn((await data.get(URI_LIST)?.asString()) ?? ""));
        if (text === undefined) return undefined;
        const before = document.lineAt(position).text.slice(0, position.character);
        // directly after a word, the text would not be a mention
        return new vscode.DocumentDropEdit(/\S$/.test(before) ? ` ${text}` : text);
      },
    }),
  );
}

async function completionItems(
  document: vscode.TextDocument,
  position: vscode.Position,
  mentionable: () => Promise<Mentionable>,
): Promise<vscode.CompletionList | undefined> {
  const line = document.lineAt(position).text.slice(0, position.character);
  const mention = unfinishedMention(line);
  if (!mention) return undefined;
  const range = new vscode.Range(position.with({ character: mention.start }), position);
  const items = completionsAt(line, await mentionable()).map((completion, index) => {
    const { mention: label, description } = completion;
    const item = completionItem({ label, description }, KINDS[completion.kind]);
    item.range = range;
    item.insertText = applyCompletion(line, completion).slice(mention.start);
    // otherwise, VS Code would filter and sort by its own rules
    item.filterText = line.slice(mention.start);
    item.sortText = String(index).padStart(3, "0");
    return item;
  });
  return new vscode.CompletionList(items, true);
}
