// What the prompt of the conversation needs from the extension: the chips and pictures, the completions, and the text
// that is not sent yet.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { AgentView, ChipView, CompletionView } from "./messages";
import { slashCompletions, type TypedCommand } from "./slashCommands";
import { applyCompletion, completionsAt, isSlashBeginning, type Mentionable } from "../../context/completions";
import { mentionableAtEachKey, selectionLabel } from "../../context/contextItems";
import type { Offers } from "../../context/offers";
import { activeFile, isEditorContextOn, openUris, type Omission } from "../../context/editorContext";
import { workspacePath } from "../../ui/folders";
import { lineText } from "../../ui/shownText";
import type { TaskMode } from "../../state/taskMode";
import type { ImageItem } from "../../wire/protocol";
import type { AgentFile, ServerOffer } from "../../wire/protocolStates";

const DRAFTS_KEY = "fairlead.conversationDrafts";
const MAX_PICTURES = 10;
/** The maximum length of all pictures of a task together, as base64. The server checks it too. */
const MAX_DATA = (20 * 1024 * 1024 * 4) / 3;

interface Picture {
  readonly item: ImageItem;
  readonly thumbnail: string;
}

export class PromptBox {
  /**
   * The labels of the context chips that the user removed for the next task. A label contains the active file's
   * name, so the chips of another file still appear.
   */
  private readonly removed = new Set<string>();
  /** The pictures that are sent with the next task, by the id of their chip. */
  private readonly pictures = new Map<ChipView["id"], Picture>();
  private pictureCount = 0;
  private readonly mentionable: () => Promise<Mentionable>;
  private foundAgents: readonly AgentView[] = [];
  /** The mode that the user has chosen last. */
  mode: TaskMode = "agent";
  private readonly changes = new vscode.EventEmitter<void>();
  /** After the agents have changed. */
  readonly onDidChange = this.changes.event;

  /**
   * `offers` are those of the tool servers, `skills` the skills and commands, also of a hosted agent, of the session that `shown` returns. `files`
   * are the agents in files. `whenOpened` is called when the prompt is shown, and when the user begins to type into an
   * empty one.
   */
  constructor(
    private readonly memory: vscode.Memento,
    private readonly offers: Offers<ServerOffer>,
    private readonly skills: Offers<TypedCommand>,
    private readonly files: Offers<AgentFile>,
    private readonly shown: () => string | undefined,
    private readonly whenOpened: () => void,
  ) {
    this.mentionable = mentionableAtEachKey(() => offers.soon(shown()));
  }

  /** Call it when the prompt is shown. */
  onShown(): void {
    this.onOpen();
  }

  /** The agents in files that the user can choose, as of the last time that the prompt was opened. */
  get agents(): readonly AgentView[] {
    return this.foundAgents;
  }

  private onOpen(): void {
    this.whenOpened();
    void this.findAgents();
  }

  private async findAgents(): Promise<void> {
    const found = (await this.files.of(undefined)).filter(({ isForUser }) => isForUser);
    const agents = found.map(({ name, description }) => ({ name, description: lineText(description) }));
    if (JSON.stringify(agents) === JSON.stringify(this.foundAgents)) return;
    this.foundAgents = agents;
    this.changes.fire();
  }

  /** The text that was typed but not sent in a session; `sessionId` is empty if none was shown. */
  draft(sessionId: string): string {
    return this.drafts[sessionId] ?? "";
  }

  /** Saves the text that was typed but not sent. An empty text removes it. */
  async setDraft(sessionId: string, text: string): Promise<void> {
    if (this.draft(sessionId) === "" && text !== "") this.onOpen();
    const others = Object.entries(this.drafts).filter(([id]) => id !== sessionId);
    await this.memory.update(DRAFTS_KEY, Object.fromEntries(text === "" ? others : [...others, [sessionId, text]]));
  }

  private get drafts(): Readonly<Record<string, string>> {
    return this.memory.get(DRAFTS_KEY, {});
  }

  /** The chips: what is sent with the next task unless the user removes it. */
  get chips(): ChipView[] {
    const context = this.contextChips().filter(({ label }) => !this.removed.has(label));
    // without the context of the editor, no selection is sent either
    return [...this.pictureChips(), ...(context.some(({ id }) => id === "editor") ? context : [])];
  }

  /**
   * Adds a picture to the next task. If that would be too many pictures or too much data, adds nothing and returns
   * false. `data` is base64, `thumbnail` a `data:` URL or empty.
   */
  addPicture(name: string, data: string, thumbnail: string): boolean {
    const all = [...this.pictures.values()];
    const size = all.reduce((sum, { item }) => sum + item.data.length, data.length);
    if (all.length >= MAX_PICTURES || size > MAX_DATA) return false;
    const item = { kind: "image", name: uniqueName(name, new Set(all.map((each) => each.item.name))), data } as const;
    this.pictures.set(`picture-${++this.pictureCount}`, { item, thumbnail });
    return true;
  }

  /**
   * Removes and returns the pictures of the next task, and a function that puts them back if the task does not start.
   */
  takePictures(): [readonly ImageItem[], () => void] {
    const taken = [...this.pictures];
    this.pictures.clear();
    const putBack = (): void => {
      for (const [id, picture] of taken) this.pictures.set(id, picture);
    };
    return [taken.map(([, { item }]) => item), putBack];
  }

  /** Removes a picture, or leaves a part of the context out of the next task. */
  removeChip(chip: ChipView["id"]): void {
    this.pictures.delete(chip);
    for (const { id, label } of this.contextChips()) if (id === chip) this.removed.add(label);
  }

  /**
   * Returns what the user removed from the context, and forgets it, because it applies only to one task. Also returns a
   * function that restores it, for a task that does not start.
   */
  takeOmissions(): [Omission[], () => void] {
    const [left, removed] = [this.chips, [...this.removed]];
    const omitted = this.contextChips().filter(({ id }) => !left.some((chip) => chip.id === id));
    this.removed.clear();
    const putBack = (): void => {
      for (const label of removed) this.removed.add(label);
    };
    return [omitted.map(({ id }) => (id === "selection" ? "selection" : "editor")), putBack];
  }

  /**
   * Sends the completions of the text before the cursor, without a mention that is already typed completely. Sends those of
   * a `/` again if the server answers late, as it does while it starts.
   */
  async complete(text: string, send: (items: readonly CompletionView[]) => void): Promise<void> {
    if (!isSlashBeginning(text)) {
      send(/[#@]/.test(text) ? await this.mentions(text) : []);
      return;
    }
    const shown = this.shown();
    const all = Promise.all([this.offers.of(shown), this.skills.of(shown)]);
    const soon = await Promise.all([this.offers.soon(shown), this.skills.soon(shown)]);
    send(slashCompletions(text, ...soon));
    const late = await all;
    if (late.some((offers, index) => offers.length > (soon[index]?.length ?? 0))) send(slashCompletions(text, ...late));
  }

  private async mentions(text: string): Promise<CompletionView[]> {
    return completionsAt(text, await this.mentionable())
      .filter(({ isExact }) => !isExact)
      .map((completion) => ({
        label: completion.mention,
        description: completion.description,
        text: applyCompletion(text, completion),
      }));
  }

  private pictureChips(): ChipView[] {
    return [...this.pictures].map(([id, { item, thumbnail }]) => ({
      id,
      label: item.name,
      title: t("The agent sees this picture."),
      thumbnail,
    }));
  }

  private contextChips(): ChipView[] {
    if (!isEditorContextOn()) return [];
    const file = activeFile();
    const hasOpenFiles = openUris().some((uri) => vscode.workspace.getWorkspaceFolder(uri));
    const name = file ? workspacePath(file.uri) : t("open files");
    const chips: ChipView[] = [];
    if (file || hasOpenFiles)
      chips.push({
        id: "editor",
        label: name,
        title: t("Tells the agent which files are open and visible, their problems, and the Git branch."),
        thumbnail: "",
      });
    if (file?.selection)
      chips.push({
        id: "selection",
        label: selectionLabel() ?? name,
        title: t("Tells the agent what is selected."),
        thumbnail: "",
      });
    return chips;
  }
}

/** Returns the name, with a number added if it is taken, because all pasted pictures have the same name. */
function uniqueName(name: string, taken: ReadonlySet<string>): string {
  const [, stem = name, ending = ""] = /^(.+?)(\.\w+)?$/.exec(name) ?? [];
  let unique = name;
  for (let number = 2; taken.has(unique); number++) unique = `${stem} ${number}${ending}`;
  return unique;
}
