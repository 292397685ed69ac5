// The conversation in webviews: a view in a side bar, and at most one editor. Both show the active session.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { cardsOf, objectIds, type Card } from "./cards";
import type { ConversationActions } from "./conversationActions";
import { chooseFiles } from "./attachments";
import { changeViews, filesOfCall, type Changes } from "./changeViews";
import { aboveTyped } from "./drafts";
import { wholeText } from "./entryViews";
import { parseIntention, type Intention, type StateView } from "./messages";
import { entriesWith, isMessage, messageFrom, recallable } from "./navigation";
import { loadPage, markUnloaded, post, type Page } from "./webviewPage";
import { exampleTasks, type Surroundings } from "./exampleTasks";
import { mentionsOf } from "../../context/contextItems";
import { activeFile } from "../../context/editorContext";
import { hasChanges } from "../../context/git";
import { pathMention } from "../../context/mentions";
import type { PromptBox } from "./promptBox";
import { stateView } from "./stateView";
import { relative, workspacePath } from "../../ui/folders";
import type { ModelAccess } from "../../server/modelAccess";
import type { HostedAgents } from "../../server/hostedAgents";
import type { ChosenModels } from "../../server/chosenModels";
import { takesKey } from "../../server/settings";
import type { Change, PromptEntry, Session } from "../../state/session";
import type { Store } from "../../state/store";
import { modelName } from "../../ui/modelTexts";
import { drawnFrom, type Scheduled } from "../../ui/throttle";
import { pick, showError, showHeader, showInformation } from "../../ui/show";
import { lineText } from "../../ui/shownText";

const VIEW = "fairlead.conversation";
/** The type of the editor with the conversation, by which VS Code restores it after a reload. */
const EDITOR = "fairlead.conversationEditor";
const REDRAW_MS = 60;

export class Conversation implements vscode.Disposable {
  private readonly visibility = new vscode.EventEmitter<void>();
  /** Fires when the view or the editor is created, shown, hidden or disposed. */
  readonly onDidChangeVisibility = this.visibility.event;
  private readonly pages = new Set<Page>();
  private readonly idOf = objectIds();
  private view: vscode.WebviewView | undefined;
  private editor: vscode.WebviewPanel | undefined;
  /** Whether the view gets the focus when its page is ready. */
  private isFocusWanted = false;
  /** The index of the entry that is scrolled to when there is a page. */
  private wanted: number | undefined;
  private readonly redraw: Scheduled;
  private readonly disposables: { dispose(): unknown }[];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly store: Store,
    private readonly actions: ConversationActions,
    /** Returns the earlier tasks, newest first. */
    private readonly history: () => readonly string[],
    private readonly box: PromptBox,
    private readonly models: ChosenModels,
    private readonly agents: HostedAgents,
    private readonly access: Pick<ModelAccess, "isSet" | "hasServerFailed" | "onDidChange">,
    private readonly rewind: (session: Session, prompt: PromptEntry) => Promise<void>,
    private readonly changes: Changes,
  ) {
    // after a change of another session, that may have become the active one, or wait for the user
    const isRelevant = (change: Change, session: Session): boolean =>
      session === store.active || change !== "conversation";
    this.redraw = drawnFrom(store, this.draw, isRelevant, REDRAW_MS);
    const { schedule } = this.redraw;
    this.disposables = [
      this.visibility,
      this.redraw,
      models.onDidChange(schedule),
      agents.onDidChange(schedule),
      access.onDidChange(schedule),
      box.onDidChange(schedule),
      vscode.workspace.onDidGrantWorkspaceTrust(schedule),
      vscode.workspace.onDidChangeWorkspaceFolders(() => {
        // with several folders, paths begin with the folder's name
        for (const page of this.pages) page.feed.reset();
        schedule();
      }),
      vscode.workspace.onDidChangeConfiguration(schedule),
      vscode.window.onDidChangeActiveTextEditor(schedule),
      vscode.window.onDidChangeActiveNotebookEditor(schedule),
      // a file that is closed in the background is not sent anymore
      vscode.window.tabGroups.onDidChangeTabs(schedule),
      vscode.workspace.onDidCloseTextDocument(schedule),
      vscode.window.onDidChangeTextEditorSelection((event) => {
        // a change with a kind comes from the keyboard, the mouse or a command
        if (event.kind !== undefined) this.cancelFocus();
        schedule();
      }),
      vscode.window.registerWebviewViewProvider(VIEW, {
        resolveWebviewView: (view) => {
          this.attachView(view);
        },
      }),
      vscode.window.registerWebviewPanelSerializer(EDITOR, {
        deserializeWebviewPanel: (panel) => {
          this.attachEditor(panel);
          return Promise.resolve();
        },
      }),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Whether the user sees the view or the editor. */
  get isVisible(): boolean {
    return this.view?.visible === true || this.editor?.visible === true;
  }

  /** Whether the user sees this session in the view or in the editor. */
  shows(sessionId: string): boolean {
    return this.isVisible && this.store.active?.id === sessionId;
  }

  /**
   * Shows the view, wherever the user has put it, with the focus in the prompt. The view takes the focus at once, so that
   * what the user types does not get into the editor. A page that is still loading gets the focus again when it is ready.
   * `cancelFocus` cancels this: a late focus would close an input box that was opened in the meantime. It cannot cancel
   * that VS Code itself sometimes focuses a page that has loaded.
   */
  async show(): Promise<void> {
    const isLoaded = [...this.pages].some(({ webview, isReady }) => webview === this.view?.webview && isReady);
    this.isFocusWanted = !isLoaded;
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    if (isLoaded) this.focusPrompt(this.view?.webview);
  }

  /** Cancels a focus that waits for a page, because the user has started to type somewhere else. */
  cancelFocus(): void {
    this.isFocusWanted = false;
  }

  /**
   * Puts a text into the prompt of each page, above what the user has typed, so that the user can edit and send it.
   * Shows the view if the editor is not visible. If no page is loaded, the text becomes a part of the draft.
   */
  async offer(text: string): Promise<void> {
    this.draw(); // so that the pages show the session that the text is for
    const ready = [...this.pages].filter(({ isReady }) => isReady);
    if (ready.length === 0) await this.box.setDraft(this.shownId, aboveTyped(text, this.box.draft(this.shownId)));
    for (const page of ready) post(page, { kind: "edit", text });
    if (!this.editor?.visible) await this.show();
  }

  /** Shows the conversation in an editor, in addition to the view. If that editor is open, focuses its prompt. */
  openEditor(): void {
    if (this.editor) {
      this.editor.reveal();
      this.focusPrompt(this.editor.webview);
      return;
    }
    const panel = vscode.window.createWebviewPanel(EDITOR, t("Conversation"), vscode.ViewColumn.Active);
    const icon = (name: string): vscode.Uri => vscode.Uri.joinPath(this.extension, "client", "media", name);
    panel.iconPath = { light: icon("agent.svg"), dark: icon("agent-dark.svg") };
    this.attachEditor(panel);
  }

  /** Shows an empty conversation, in which the next task begins a new session. */
  async newSession(): Promise<void> {
    this.store.showNone();
    if (!this.editor?.visible) await this.show();
    else this.focusPrompt(this.editor.webview);
  }

  /** Lets the user find a text in the conversation. */
  async find(): Promise<void> {
    if (!this.editor?.active) await this.show();
    if (this.front) post(this.front, { kind: "find" });
  }

  /** Scrolls to the user's previous (-1) or next (1) message. */
  jump(by: -1 | 1): void {
    const page = this.front;
    if (page) post(page, { kind: "jump", by });
  }

  /** Lets the user choose one of their messages, the newest first, and scrolls to it. */
  async goToMessage(): Promise<void> {
    const session = this.store.active;
    const rows = (session?.entries ?? [])
      .map((entry, index) => ({ label: isMessage(entry) ? lineText(entry.text, 200) : "", index }))
      .filter(({ label }) => label !== "")
      .reverse();
    const texts = { title: t("Agent: Go to Message"), placeholder: t("Go to which of your messages?") };
    const chosen = await pick(rows, texts);
    if (!chosen || this.store.active !== session) return;
    this.wanted = chosen.index;
    if (!this.editor?.active) await this.show();
    this.revealWanted();
  }

  /** Scrolls to the entry that the user has chosen, as soon as there is a page. */
  private revealWanted(): void {
    const page = this.front;
    if (!page || this.wanted === undefined) return;
    this.reveal(page, this.wanted);
    this.wanted = undefined;
  }

  /** Scrolls a page to an entry, which the page may not have yet. */
  private reveal(page: Page, entry: number): void {
    page.feed.include(entry);
    this.draw();
    post(page, { kind: "reveal", entry });
  }

  /** The page that the user works in: that of the editor if it is the active one, else that of the view. */
  private get front(): Page | undefined {
    const webview = this.editor?.active ? this.editor.webview : this.view?.webview;
    return [...this.pages].find((page) => page.webview === webview && page.isReady);
  }

  private focusPrompt(webview: vscode.Webview | undefined): void {
    for (const page of this.pages) if (page.webview === webview && page.isReady) post(page, { kind: "focus" });
  }

  private attachEditor(panel: vscode.WebviewPanel): void {
    this.editor = panel;
    panel.onDidDispose(() => {
      if (this.editor === panel) this.editor = undefined;
      this.visibility.fire();
    });
    const page = this.attach(panel.webview, panel);
    panel.onDidChangeViewState(() => {
      if (!panel.visible) markUnloaded(page);
      this.visibility.fire();
    });
    this.visibility.fire();
  }

  private attachView(view: vscode.WebviewView): void {
    this.view = view;
    const page = this.attach(view.webview, view);
    view.onDidChangeVisibility(() => {
      if (!view.visible) markUnloaded(page);
      this.visibility.fire();
    });
    this.visibility.fire();
    this.draw();
  }

  private attach(webview: vscode.Webview, owner: vscode.WebviewView | vscode.WebviewPanel): Page {
    const page = loadPage(webview, this.extension);
    this.pages.add(page);
    const subscription = webview.onDidReceiveMessage((message: unknown) => {
      const intention = parseIntention(message);
      if (intention) void this.perform(intention, page);
    });
    owner.onDidDispose(() => {
      this.pages.delete(page);
      if (this.view === owner) {
        this.view = undefined;
        this.visibility.fire();
      }
      subscription.dispose();
    });
    return page;
  }

  private async perform(intention: Intention, page: Page): Promise<void> {
    switch (intention.kind) {
      case "ready":
        markUnloaded(page);
        page.isReady = true;
        this.draw();
        this.box.onShown();
        if (this.isFocusWanted && page.webview === this.view?.webview) await this.show();
        this.revealWanted();
        return;
      case "showFrom":
        page.feed.showFrom(intention.first);
        this.draw();
        return;
      case "jump": {
        const { entries = [] } = this.store.active ?? {};
        const message = messageFrom(entries, intention.from, intention.by);
        if (message !== undefined) this.reveal(page, message);
        else if (intention.by === 1) post(page, { kind: "reveal", entry: null });
        return;
      }
      case "find": {
        const entries = entriesWith(this.store.active?.entries ?? [], intention.text);
        post(page, { kind: "found", request: intention.request, entries });
        return;
      }
      case "reveal":
        this.reveal(page, intention.entry);
        return;
      case "showChanges":
        page.unfolded.add(intention.entry);
        await this.postChanges(page, intention.entry);
        return;
      case "decide": {
        const session = this.store.active;
        const entry = session?.entries[intention.entry];
        const files = session && entry?.kind === "tool" ? filesOfCall(session, entry) : [];
        const file = files.find(({ uri }) => uri === intention.uri);
        // the change may have been decided elsewhere
        if (!session || !file) return;
        const hunk = file.hunks.find(({ id }) => id === intention.change)?.id;
        if (intention.change !== "" && hunk === undefined) return;
        const target = hunk === undefined ? { uri: file.uri } : { uri: file.uri, hunk };
        await this.changes.decide(intention.isAccepted ? "accept" : "reject", { sessionId: session.id, target });
        return;
      }
      case "listMessages":
        await this.goToMessage();
        return;
      case "press":
      case "answer": {
        const card = this.cards().find(({ about }) => this.idOf(about) === intention.card);
        const action = intention.kind === "press" ? card?.buttons[intention.button]?.action : undefined;
        if (action?.kind === "offer") post(page, { kind: "edit", text: action.text });
        // a card that is gone was answered elsewhere
        else if (card) await this.actions.answer(card, intention);
        return;
      }
      case "draft":
        await this.box.setDraft(intention.session, intention.text);
        return;
      case "edit": {
        const entry = this.store.active?.entries[intention.entry];
        if (entry) post(page, { kind: "edit", text: wholeText(entry) });
        return;
      }
      case "rewind": {
        const session = this.store.active;
        const entry = session?.entries[intention.entry];
        if (session && entry?.kind === "prompt") await this.rewind(session, entry);
        return;
      }
      case "complete": {
        const { request, text } = intention;
        await this.box.complete(text, (items) => {
          post(page, { kind: "completions", request, items });
        });
        return;
      }
      case "mode":
        this.box.mode = intention.mode;
        // only Fairlead's own agent has modes
        if (intention.mode !== "agent" && this.store.hosted !== "") await this.agents.use("");
        return;
      case "removeChip":
        this.box.removeChip(intention.chip);
        this.draw();
        return;
      case "drop": {
        const text = mentionsOf(intention.uris);
        if (text !== undefined) post(page, { kind: "insert", text });
        else void showInformation(t("Only files and folders in the workspace can be mentioned."));
        return;
      }
      case "attach":
        await this.attachFiles(page);
        return;
      case "addPicture":
        if (!this.box.addPicture(intention.name, intention.data, intention.thumbnail))
          void showError(t("The limit for a task is 10 pictures and 20 MB in total."));
        this.draw();
        return;
      case "send": {
        await this.box.setDraft(this.shownId, "");
        const [pictures, putPicturesBack] = this.box.takePictures();
        const [omissions, putOmissionsBack] = this.box.takeOmissions();
        const putBack = (): void => {
          putPicturesBack();
          putOmissionsBack();
        };
        const cards = this.cards().filter(({ about }) => intention.cards.includes(this.idOf(about)));
        const isSent = this.actions.send(intention.text, intention.mode, cards, omissions, pictures, putBack);
        this.redraw.schedule();
        // if the task did not start, restore its text, its pictures and what the user removed
        if (!(await isSent)) {
          putBack();
          // saved too, because a page that is hidden meanwhile does not get the message
          if (this.box.draft(this.shownId) === "") await this.box.setDraft(this.shownId, intention.text);
          post(page, { kind: "draft", text: intention.text });
          this.draw();
        }
        return;
      }
      default:
        await this.actions.perform(intention);
    }
  }

  private readonly draw = (): void => {
    const session = this.store.active;
    // the session's model while a task runs or if a recording replaces the model; otherwise the next task's model
    const isFixed = session !== undefined && session.model !== "" && (session.running || session.recording !== "");
    const isHosted = this.store.hosted !== "";
    const ownModel = isFixed ? modelName(session.model) : this.nextModel();
    const prompt = {
      chips: this.box.chips,
      history: recallable(session, this.history()),
      agents: this.box.agents,
      agent: this.agents.title,
      isHosted,
      model: isHosted ? this.agents.optionsLabel : ownModel,
    };
    const state = stateView(session, this.cards(), this.idOf, prompt);
    if (this.view) showHeader(this.view, { description: state.title.replaceAll("`", "") });
    for (const page of this.pages) {
      if (!page.isReady) continue;
      this.postDraft(page);
      const entries = page.feed.next(session);
      if (entries?.isNew) page.unfolded.clear();
      if (entries) post(page, entries);
      if (session?.edits !== page.edits) {
        page.edits = session?.edits;
        for (const entry of page.unfolded) void this.postChanges(page, entry);
      }
      this.postState(page, state);
    }
  };

  /** Lets the user choose files. Those in the workspace are mentioned; other pictures are sent with the next task. */
  private async attachFiles(page: Page): Promise<void> {
    const { mentions, pictures, others } = await chooseFiles();
    if (mentions !== undefined) post(page, { kind: "insert", text: mentions });
    const added = pictures.filter(({ name, data }) => this.box.addPicture(name, data, ""));
    if (others > 0 || added.length < pictures.length)
      void showInformation(t("Only files in the workspace, and up to 10 pictures of 5 MB, can be attached."));
    this.draw();
  }

  /** The id of the shown session; empty if there is none. */
  private get shownId(): string {
    return this.store.active?.id ?? "";
  }

  /** Sends a page the draft of the session that it shows from now on. */
  private postDraft(page: Page): void {
    const { session, isStarting } = page;
    if (session === this.shownId) return;
    Object.assign(page, { session: this.shownId, isStarting: this.store.active?.isStarting === true });
    // what was typed while the session started belongs to the session
    const typed = isStarting && session !== undefined ? this.box.draft(session) : "";
    if (session !== undefined && typed !== "") void this.box.setDraft(session, "");
    const draft = aboveTyped(this.box.draft(this.shownId), typed);
    post(page, { kind: "session", id: this.shownId, draft });
  }

  private async postChanges(page: Page, entry: number): Promise<void> {
    const session = this.store.active;
    const changes = session ? await changeViews(session, entry, this.changes, relative) : [];
    if (session === this.store.active) post(page, { kind: "changes", entry, changes });
  }

  private nextModel(): string {
    return (this.access.isSet && this.models.label) || t("Choose Model");
  }

  private postState(page: Page, state: StateView): void {
    const text = JSON.stringify(state);
    if (text === page.state) return;
    page.state = text;
    post(page, { kind: "state", state });
  }

  private cards(): Card[] {
    const hasFolder = (vscode.workspace.workspaceFolders?.length ?? 0) > 0;
    const windowState = {
      hasFolder,
      isTrusted: vscode.workspace.isTrusted,
      usesKey: takesKey(this.store.active?.row?.model.endpoint),
      hasModel: this.access.isSet || this.store.hosted !== "",
      hasFailed: this.access.hasServerFailed,
      examples: this.store.active ? [] : exampleTasks(surroundings()),
    };
    return cardsOf(this.store.active, windowState, relative, this.store.sessions);
  }
}

/** Returns what the user has in front, for the tasks that are offered. */
function surroundings(): Surroundings {
  const file = activeFile()?.uri;
  const isError = ({ severity }: vscode.Diagnostic): boolean => severity === vscode.DiagnosticSeverity.Error;
  return {
    file: file && pathMention(workspacePath(file)),
    hasErrors: vscode.languages.getDiagnostics().some(([, problems]) => problems.some(isError)),
    hasChanges: hasChanges(),
  };
}
