// What the prompt of the conversation needs from VS Code: what is sent along, completions, and the text that is not sent yet.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { ChipView, CompletionView } from "./messages";
import { slashCompletions } from "./slashCommands";
import { linesText } from "../code/taskTexts";
import { complete, completionsAt, type Mentionable } from "../context/completions";
import { mentionable } from "../context/contextItems";
import { fileEditor, type Omission } from "../context/editorContext";
import { relative } from "../review/editsView";

const DRAFT_KEY = "fairlead.conversationDraft";
/** How long the workspace's files are remembered while the user types, in milliseconds. */
const FILES_VALID_MS = 10_000;

export class PromptBox {
  /** The labels of the chips that the user removed for the next task. */
  private readonly removed = new Set<string>();
  private files: { readonly found: Promise<Mentionable>; readonly at: number } | undefined;

  /** `onOpen` is called when the prompt is shown, and when the user begins to type. */
  constructor(
    private readonly memory: vscode.Memento,
    private readonly onOpen: () => void,
  ) {}

  /** The prompt is shown. */
  opened(): void {
    this.onOpen();
  }

  /** The text that was typed but not sent. */
  get draft(): string {
    return this.memory.get(DRAFT_KEY, "");
  }

  async setDraft(text: string): Promise<void> {
    if (this.draft === "" && text !== "") this.onOpen();
    await this.memory.update(DRAFT_KEY, text === "" ? undefined : text);
  }

  /** What is sent with the next task unless the user removes it. */
  get chips(): ChipView[] {
    return this.allChips().filter(({ label }) => !this.removed.has(label));
  }

  remove(chip: ChipView["id"]): void {
    for (const { id, label } of this.allChips()) if (id === chip) this.removed.add(label);
  }

  /** What the user removed, which applies to one task. */
  takeOmissions(): Omission[] {
    const left = this.chips;
    const omitted = this.allChips().filter(({ id }) => !left.some((chip) => chip.id === id));
    this.removed.clear();
    return omitted.map(({ id }) => id);
  }

  /** What completes the text before the cursor. */
  async complete(text: string): Promise<CompletionView[]> {
    const commands = slashCompletions(text);
    if (commands) return commands;
    if (!text.includes("#")) return [];
    return completionsAt(text, await this.mentionable())
      .filter(({ isExact }) => !isExact)
      .map((completion) => ({
        label: completion.mention,
        description: completion.description,
        text: complete(text, completion),
      }));
  }

  private mentionable(): Promise<Mentionable> {
    if (!this.files || Date.now() - this.files.at > FILES_VALID_MS)
      this.files = { found: mentionable(), at: Date.now() };
    return this.files.found;
  }

  private allChips(): ChipView[] {
    const editor = fileEditor();
    if (!editor || !vscode.workspace.getConfiguration("fairlead").get<boolean>("context.editor", true)) return [];
    const name = relative(editor.document.uri.with({ scheme: "file", authority: "", query: "" }).toString());
    const { start, end, isEmpty } = editor.selection;
    const lines = linesText([{ start: start.line, end: end.line }]);
    const chips: ChipView[] = [
      {
        id: "editor",
        label: name,
        title: t("The agent learns which files are open and visible, their problems and the Git branch."),
      },
    ];
    if (!isEmpty)
      chips.push({
        id: "selection",
        label: `${name}, ${lines}`,
        title: t("The agent learns which lines are selected."),
      });
    return chips;
  }
}
