// The prompt below the conversation: the text, what is sent with it, and what the run has cost.

import { t } from "@vscode/l10n";
import type { AgentView, CardView, ChipView, CompletionView, Intention, PromptView, StateView } from "../messages";
import { CompletionList } from "./completionList";
import { aboveTyped } from "../drafts";
import { parseSent } from "../slashCommands";
import { button, element } from "./elements";
import { isSlashBeginning } from "../../../context/completions";
import { urisIn } from "../../../context/mentions";
import { readPicture } from "./pictures";
import { recalled, type Recall } from "./recall";
import { isOfFile, modeName, modeOfAgent, type TaskMode } from "../../../state/taskMode";

/** The modes, each with what it does. */
const MODES = {
  agent: t("do the task"),
  plan: t("let the agent only plan the task"),
  ask: t("ask a question; nothing changes"),
} as const;

/**
 * The state that VS Code saves while the page is hidden. It does not include the typed text: VS Code would save the
 * text too late to survive a reload, so the extension saves it.
 */
export interface SavedState {
  readonly mode: TaskMode;
}

export class Prompt {
  readonly element: HTMLElement;
  private readonly input = element("textarea", "");
  private readonly mode = element("select", "mode");
  private readonly chips = element("div", "chips");
  private readonly sendButton = button(t("Send"), "send");
  private readonly stopButton = button(t("Stop"), "stop");
  private readonly agent = button("", "chooseAgent");
  private readonly model = button("", "chooseModel");
  private readonly spent = element("p", "spent");
  /** Says which added files cannot be sent. */
  private readonly notice = element("p", "notice");
  private readonly list: CompletionList;
  /** The mode that the user has selected. Its agent may not be known yet, or not be there anymore. */
  private wanted: TaskMode;
  /** Whether the agent on the page is that of another maker. */
  private isHosted = false;
  /** The agents on the page, as JSON. */
  private drawnAgents = "";
  /** The chips on the page, as JSON. */
  private drawnChips = "";
  private history: readonly string[] = [];
  /** The cards that wait for a reply. */
  private waiting: readonly CardView[] = [];
  /** The ids of those that were shown when the user began to type the text. It replies to these cards only. */
  private answered: readonly string[] = [];
  private isRunning = false;
  /** The session that the text is for; undefined before the extension has said it. */
  private session: string | undefined;
  private recall: Recall | undefined;
  /** The number of the last request for completions. Answers to earlier ones are ignored. */
  private lastRequest = 0;
  /** The text before the cursor when completions were last requested. */
  private completed = "";

  /**
   * `onSubmit` is called when the user sends a text. `focusCard` moves the focus to what waits for an answer, and returns
   * false if nothing does. `saveState` saves a state, which the next page gets as `saved`.
   */
  constructor(
    private readonly send: (intention: Intention) => void,
    private readonly onSubmit: () => void,
    private readonly focusCard: () => boolean,
    private readonly saveState: (state: SavedState) => void,
    saved: SavedState | undefined,
  ) {
    this.input.rows = 2;
    this.input.setAttribute("aria-label", t("Message to the agent"));
    this.mode.setAttribute("aria-label", t("Mode"));
    this.wanted = saved?.mode ?? "agent";
    this.drawModes([]);
    this.list = new CompletionList(this.input, (item) => {
      this.complete(item);
    });
    this.notice.setAttribute("role", "status");
    const buttons = element("div", "buttons", this.stopButton, this.sendButton);
    const attach = button("+", "attach", t("Attach files and pictures"));
    attach.title = t("Attach files and pictures");
    const row = element("div", "row", attach, this.mode, this.agent, this.model, buttons);
    const parts = [this.chips, this.list.element, this.input, this.notice, row, this.spent];
    this.element = element("div", "prompt-box", ...parts);
    this.input.addEventListener("paste", (event) => {
      const files = [...(event.clipboardData?.files ?? [])];
      // a copied table is on the clipboard as a picture and as text, and the user wants the text
      if (files.length === 0 || event.clipboardData?.getData("text/plain")) return;
      event.preventDefault();
      void this.addPictures(files);
    });
    this.element.addEventListener("dragover", (event) => {
      if (!isDroppable(event.dataTransfer)) return;
      event.preventDefault();
      this.element.classList.add("drop-target");
    });
    for (const type of ["dragleave", "drop"] as const)
      this.element.addEventListener(type, () => {
        this.element.classList.remove("drop-target");
      });
    this.element.addEventListener("drop", (event) => {
      if (!isDroppable(event.dataTransfer)) return;
      event.preventDefault();
      this.drop(event.dataTransfer);
    });
    this.input.addEventListener("input", () => {
      this.onInput();
    });
    this.input.addEventListener("keydown", (event) => {
      if (!event.isComposing && this.onKey(event)) event.preventDefault();
    });
    this.input.addEventListener("blur", () => {
      this.list.hide();
    });
    document.addEventListener("selectionchange", () => {
      // the completions belong to an earlier position of the cursor
      if (this.list.highlighted && this.beforeCursor !== this.completed) this.list.hide();
    });
    this.mode.addEventListener("change", () => {
      this.chooseMode(this.selectedMode);
      this.send({ kind: "mode", mode: this.wanted });
    });
  }

  focus(): void {
    this.input.focus();
  }

  draw({ isRunning, cards, prompt }: StateView): void {
    this.history = prompt.history;
    this.isRunning = isRunning;
    this.waiting = cards.filter(({ reply }) => reply !== null);
    this.input.placeholder = this.explanation(replyTo(this.waiting));
    this.drawSend();
    this.stopButton.hidden = !isRunning;
    this.mode.disabled = isRunning;
    // only Fairlead's own agent has modes
    if (prompt.isHosted && !this.isHosted && this.wanted !== "agent") {
      this.chooseMode("agent");
      this.mode.value = "agent";
    }
    this.isHosted = prompt.isHosted;
    // an open list would close if it were drawn again
    const agents = JSON.stringify(prompt.agents);
    if (agents !== this.drawnAgents) this.drawModes(prompt.agents);
    this.drawnAgents = agents;
    this.mode.title = prompt.isHosted
      ? t("Other modes than Agent are Fairlead’s own. If you choose one, Fairlead works instead of {0}.", prompt.agent)
      : "";
    this.agent.textContent = prompt.agent;
    this.agent.disabled = isRunning;
    this.agent.setAttribute("aria-label", t("Who works: {0}", prompt.agent));
    this.agent.title = t("Choose who works");
    this.model.textContent = prompt.model;
    this.model.setAttribute("aria-label", t("Model: {0}", prompt.model));
    this.model.hidden = prompt.model === "";
    this.spent.textContent = spentText(prompt);
    this.spent.title = t("The cost and tokens of the run, and how full the model's context window is.");
    const chips = JSON.stringify(prompt.chips);
    // a chip's button would lose the focus if it were drawn again
    if (chips !== this.drawnChips) this.chips.replaceChildren(...prompt.chips.map(chipElement));
    this.drawnChips = chips;
  }

  /** Shows the draft of another session. What was typed before the first session was known belongs to that session. */
  showSession(session: string, draft: string): void {
    const isFirst = this.session === undefined;
    this.session = session;
    if (!isFirst || this.input.value === "") this.setDraft(draft);
    else this.save();
  }

  /** Restores a text that was not sent, if the prompt is empty. */
  restoreDraft(text: string): void {
    if (this.input.value === "" && text !== "") this.setDraft(text);
  }

  /** Puts a text into the prompt for the user to edit and send, above what is already typed. */
  edit(text: string): void {
    this.setText(aboveTyped(text, this.input.value));
    this.focus();
  }

  showCompletions(request: number, items: readonly CompletionView[]): void {
    const isCurrent = request === this.lastRequest && this.beforeCursor === this.completed;
    if (isCurrent && document.activeElement === this.input) this.list.show(items);
  }

  submit(): void {
    const text = this.input.value;
    if (text.trim() === "") return;
    const cards = this.repliesTo().map(({ id }) => id);
    this.setText("");
    this.send({ kind: "send", text, mode: this.selectedMode, cards });
    this.onSubmit();
  }

  /**
   * Replaces the selection with a text. Adds a space before the text if necessary. If white space follows the
   * selection, removes the white space at the end of the text.
   */
  insert(text: string): void {
    const { value, selectionStart, selectionEnd } = this.input;
    const [before, after] = [value.slice(0, selectionStart), value.slice(selectionEnd)];
    const inserted = `${before}${/\S$/.test(before) ? " " : ""}${/^\s/.test(after) ? text.trimEnd() : text}`;
    this.setText(inserted + after);
    this.input.setSelectionRange(inserted.length, inserted.length);
    this.focus();
  }

  /**
   * Files from VS Code become mentions. Files from the system become pictures, because the page cannot see their paths.
   */
  private drop(data: DataTransfer): void {
    const files = [...data.files];
    const uriList = data.getData(EXPLORER_LIST) || (files.length === 0 ? data.getData(URI_LIST) : "");
    if (uriList !== "") this.send({ kind: "drop", uris: urisIn(uriList) });
    else void this.addPictures(files);
  }

  /** Adds files as pictures, in their order. Tells the user which ones cannot be sent. */
  private async addPictures(files: readonly File[]): Promise<void> {
    const problems: string[] = [];
    for (const file of files) {
      const picture = await readPicture(file);
      if (typeof picture === "string") problems.push(picture);
      else this.send(picture);
    }
    this.notice.textContent = problems.join(" ");
    this.focus();
  }

  private chooseMode(mode: TaskMode): void {
    this.wanted = mode;
    this.saveState({ mode });
  }

  private get selectedMode(): TaskMode {
    const { value } = this.mode;
    return value === "plan" || value === "ask" || isOfFile(value) ? value : "agent";
  }

  /** Draws the modes, and the agents in files below them. The wanted one stays selected if it is among them. */
  private drawModes(agents: readonly AgentView[]): void {
    const row = (name: string, value: string, description: string): HTMLOptionElement => {
      const option = new Option(name, value);
      option.title = description;
      return option;
    };
    const own = Object.entries(MODES).map(([value, description]) =>
      row(modeName(value as TaskMode), value, description),
    );
    const options = agents.map(({ name, description }) => row(name, modeOfAgent(name), description));
    const group = element("optgroup", "", ...options);
    group.label = t("Agents in files");
    this.mode.replaceChildren(...own, ...(options.length > 0 ? [group] : []));
    this.mode.value = this.wanted;
    if (this.mode.selectedIndex < 0) this.mode.value = "agent";
  }

  private get beforeCursor(): string {
    return this.input.value.slice(0, this.input.selectionStart);
  }

  private onInput(): void {
    this.recall = undefined;
    this.notice.textContent = "";
    this.drawSend();
    this.save();
    const before = this.beforeCursor;
    const isCompletable = isSlashBeginning(before) || /[#@][^#@\n]*$/.test(before);
    this.lastRequest += 1;
    this.completed = before;
    if (isCompletable) this.send({ kind: "complete", request: this.lastRequest, text: before });
    else this.list.hide();
  }

  /** Handles a key. Returns false if it has no special effect here. */
  private onKey({ key, shiftKey, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
    if (ctrlKey || metaKey || altKey) return false;
    // completions that come later must not open the list again
    if (key === "Escape" || key === "Enter") this.lastRequest += 1;
    const { highlighted } = this.list;
    if (highlighted && (key === "ArrowDown" || key === "ArrowUp")) this.list.move(key === "ArrowDown" ? 1 : -1);
    else if (highlighted && !shiftKey && (key === "Enter" || key === "Tab")) this.complete(highlighted);
    else if (highlighted && key === "Escape") this.list.hide();
    else if (key === "Enter" && !shiftKey) this.submit();
    else if (key === "Tab" && shiftKey) return this.focusCard();
    else if (key === "ArrowUp" || key === "ArrowDown") return !shiftKey && this.goThroughHistory(key);
    else return false;
    return true;
  }

  /**
   * ArrowUp shows an earlier task if the cursor is at the start of the text, and ArrowDown a later one if it is at the
   * end. While a task of the history is shown unchanged, the cursor may be anywhere. Returns whether a text was shown.
   */
  private goThroughHistory(key: "ArrowUp" | "ArrowDown"): boolean {
    const { selectionStart, selectionEnd, value } = this.input;
    const edge = key === "ArrowUp" ? 0 : value.length;
    if (selectionStart !== selectionEnd || (selectionStart !== edge && this.recall?.shown !== value)) return false;
    const next = recalled(key === "ArrowUp" ? 1 : -1, value, this.history, this.recall);
    if (!next) return false;
    this.setText(next.shown);
    this.recall = next;
    return true;
  }

  private complete({ text }: CompletionView): void {
    // what follows the completed text, not what follows the cursor, which may have moved
    const after = this.input.value.slice(this.completed.length);
    this.setText(text + after);
    this.input.setSelectionRange(text.length, text.length);
    this.input.focus();
  }

  private setText(text: string): void {
    this.recall = undefined;
    this.input.value = text;
    this.input.setSelectionRange(text.length, text.length);
    this.list.hide();
    this.lastRequest += 1;
    this.drawSend();
    this.save();
  }

  /** Shows a text that the user did not type here. It replies to no card, because it was typed before. */
  private setDraft(text: string): void {
    this.setText(text);
    this.answered = [];
    this.drawSend();
  }

  /** Returns the cards to which the text replies; none if it is a message, a task or a command. */
  private repliesTo(): CardView[] {
    const sent = parseSent(this.input.value, [], []);
    if (sent.kind !== "task" || sent.isNew || sent.text === "") return [];
    return this.waiting.filter(({ id }) => this.answered.includes(id));
  }

  /** Says on the button what Enter does. */
  private drawSend(): void {
    if (this.input.value.trim() === "") this.answered = this.waiting.map(({ id }) => id);
    const reply = replyTo(this.repliesTo());
    this.sendButton.textContent = reply === "answer" ? t("Answer") : reply === "reason" ? t("Reject") : t("Send");
    this.sendButton.title = this.input.value.trim() === "" ? "" : this.explanation(reply);
  }

  /** Says what a text does that is such a reply (null: none). */
  private explanation(reply: CardView["reply"]): string {
    if (!this.isRunning) return t("What should the agent do? # mentions files, / runs commands.");
    if (reply === "answer") return t("Your answer");
    if (reply === "reason") return t("Reject, and say what the agent should do instead.");
    return t("Tell the agent something. It reads this after its current action.");
  }

  private save(): void {
    if (this.session !== undefined) this.send({ kind: "draft", session: this.session, text: this.input.value });
  }
}

/** Returns what a text is for these cards. A question comes before the approvals; null if there is no card. */
const replyTo = (cards: readonly CardView[]): CardView["reply"] =>
  cards.find(({ reply }) => reply === "answer")?.reply ?? cards[0]?.reply ?? null;

function chipElement({ id, label, title, thumbnail }: ChipView): HTMLElement {
  const remove = button("×", "removeChip", t("Do not send {0}", label));
  remove.dataset.chip = id;
  const chip = element("span", "chip", element("span", "label", label), remove);
  if (thumbnail !== "") {
    const picture = element("img", "");
    picture.src = thumbnail;
    picture.alt = "";
    chip.prepend(picture);
  }
  chip.title = title;
  return chip;
}

/** The type of the data that is dragged from VS Code's Explorer or tabs while Shift is held. */
const EXPLORER_LIST = "application/vnd.code.uri-list";
const URI_LIST = "text/uri-list";

/** Whether the dragged data can be dropped here: files from the system or from VS Code. */
const isDroppable = (data: DataTransfer | null): data is DataTransfer =>
  data?.types.some((type) => ["Files", EXPLORER_LIST, URI_LIST].includes(type)) ?? false;

function spentText({ cost, window }: PromptView): string {
  const parts = [cost, window === null ? "" : t("{0}% of the window", window)];
  // no line begins with the dot
  return parts.filter(Boolean).join(" · ").replaceAll(" · ", "\u00a0· ");
}
