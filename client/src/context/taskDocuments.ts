// Mentions in the document of a multi-line task: VS Code completes them, and inserts one for each file that is dropped. It
// also completes the skill that the task begins with.

import * as vscode from "vscode";
import {
  applyCompletion,
  completionsAt,
  isSlashBeginning,
  skillCompletions,
  type Completion,
  type Mentionable,
} from "./completions";
import { mentionableAtEachKey, mentionsOf } from "./contextItems";
import { completionItem } from "../ui/show";
import { unfinishedMention, urisIn } from "./mentions";
import type { ServerOffer, Skill } from "../wire/protocolStates";

const SELECTOR = { language: "fairlead-task" };
const URI_LIST = "text/uri-list";
const KINDS: Record<Completion["kind"], vscode.CompletionItemKind> = {
  keyword: vscode.CompletionItemKind.Keyword,
  file: vscode.CompletionItemKind.File,
  folder: vscode.CompletionItemKind.Folder,
  resource: vscode.CompletionItemKind.Reference,
  skill: vscode.CompletionItemKind.Function,
};

/** `offers` returns what the tool servers offer, `skills` the skills and commands. */
export function registerTaskDocuments(
  offers: () => Promise<readonly ServerOffer[]>,
  skills: () => Promise<readonly Skill[]>,
): vscode.Disposable {
  const mentionable = mentionableAtEachKey(offers);
  const provideCompletionItems: vscode.CompletionItemProvider["provideCompletionItems"] = (document, position) =>
    completionItems(document, position, mentionable, skills);
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
  skills: () => Promise<readonly Skill[]>,
): Promise<vscode.CompletionList | undefined> {
  const line = document.lineAt(position).text.slice(0, position.character);
  const isSkill = position.line === 0 && isSlashBeginning(line);
  const start = isSkill ? 0 : unfinishedMention(line)?.start;
  if (start === undefined) return undefined;
  const range = new vscode.Range(position.with({ character: start }), position);
  const found = isSkill ? skillCompletions(line, await skills()) : completionsAt(line, await mentionable());
  const items = found.map((completion, index) => {
    const { mention: label, description } = completion;
    const item = completionItem({ label, description }, KINDS[completion.kind]);
    item.range = range;
    item.insertText = applyCompletion(line, completion).slice(start);
    // otherwise, VS Code would filter and sort by its own rules
    item.filterText = line.slice(start);
    item.sortText = String(index).padStart(3, "0");
    return item;
  });
  return new vscode.CompletionList(items, true);
}
