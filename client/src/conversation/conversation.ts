// The conversation in webviews: a view in the side bar, and editors. All show the active session.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { cardsOf, objectIds, type Card } from "./cards";
import type { ConversationActions } from "./conversationActions";
import { EntryFeed } from "./entryFeed";
import { parseIntention, type Intention, type StateView, type Update } from "./messages";
import { pageHtml } from "./page";
import { stateView } from "./stateView";
import { relative } from "../review/editsView";
import type { Store } from "../state";
import { throttled } from "../ui/throttle";

const VIEW = "fairlead.conversation";
/** An editor with the conversation. VS Code names it so after a reload. */
const EDITOR = "fairlead.conversationEditor";
const REDRAW_MS = 60;

interface Shown {
  readonly webview: vscode.Webview;
  readonly feed: EntryFeed;
  /** The state that the webview has, as JSON. */
  state: string;
  isReady: boolean;
}

export class Conversation implements vscode.Disposable {
  private readonly shown = new Set<Shown>();
  private readonly idOf = objectIds();
  private view: vscode.WebviewView | undefined;
  private editor: vscode.WebviewPanel | undefined;
  private readonly redraw = throttled(() => {
    this.draw();
  }, REDRAW_MS);
  private readonly disposables: { dispose(): unknown }[];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly store: Store,
    private readonly actions: ConversationActions,
  ) {
    const unsubscribe = store.onChange((change, session) => {
      // "sessions": another session may have become the active one
      if (session === store.active || change === "sessions") this.redraw.schedule();
    });
    const schedule = (): void => {
      this.redraw.schedule();
    };
    this.disposables = [
      { dispose: unsubscribe },
      this.redraw,
      vscode.workspace.onDidGrantWorkspaceTrust(schedule),
      vscode.workspace.onDidChangeWorkspaceFolders(schedule),
      vscode.window.registerWebviewViewProvider(VIEW, {
        resolveWebviewView: (view) => {
          this.resolve(view);
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

  /** Shows the view, wherever the user has put it, with the focus in it. */
  async show(): Promise<void> {
    await vscode.commands.executeCommand(`${VIEW}.focus`);
  }

  /** Shows the conversation in an editor, in addition to the view. */
  openEditor(): void {
    if (this.editor) {
      this.editor.reveal();
      return;
    }
    const panel = vscode.window.createWebviewPanel(EDITOR, "Conversation", vscode.ViewColumn.Active);
    panel.iconPath = vscode.Uri.joinPath(this.extension, "client", "media", "agent.svg");
    this.attachEditor(panel);
  }

  private attachEditor(panel: vscode.WebviewPanel): void {
    this.editor = panel;
    panel.onDidDispose(() => {
      if (this.editor === panel) this.editor = undefined;
    });
    this.attach(panel.webview, panel);
  }

  private resolve(view: vscode.WebviewView): void {
    this.view = view;
    this.attach(view.webview, view);
    this.draw();
  }

  private attach(webview: vscode.Webview, owner: vscode.WebviewView | vscode.WebviewPanel): void {
    const dist = vscode.Uri.joinPath(this.extension, "dist");
    const source = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(dist, name)).toString();
    const shown: Shown = { webview, feed: new EntryFeed(relative), state: "", isReady: false };
    this.shown.add(shown);
    const listening = webview.onDidReceiveMessage((message: unknown) => {
      const intention = parseIntention(message);
      if (intention) void this.perform(intention, shown);
    });
    owner.onDidDispose(() => {
      this.shown.delete(shown);
      if (this.view === owner) this.view = undefined;
      listening.dispose();
    });
    webview.options = { enableScripts: true, localResourceRoots: [dist] };
    webview.html = pageHtml({
      script: source("conversation.js"),
      style: source("conversation-style.css"),
      cspSource: webview.cspSource,
      nonce: randomBytes(16).toString("hex"),
    });
  }

  private async perform(intention: Intention, shown: Shown): Promise<void> {
    switch (intention.kind) {
      case "ready":
        // VS Code loads the page again when the view is shown again
        Object.assign(shown, { isReady: true, state: "" });
        shown.feed.reset();
        this.draw();
        return;
      case "showFrom":
        shown.feed.showFrom(intention.first);
        this.draw();
        return;
      case "press":
      case "answer": {
        const card = this.cards().find(({ about }) => this.idOf(about) === intention.card);
        // a card that is gone was answered elsewhere
        if (card) await this.actions.answer(card, intention);
        return;
      }
      default:
        await this.actions.perform(intention);
    }
  }

  private draw(): void {
    const session = this.store.active;
    const state = stateView(session, this.cards(), this.idOf);
    if (this.view) this.view.description = state.title.replaceAll("`", "");
    for (const shown of this.shown) {
      if (!shown.isReady) continue;
      const entries = shown.feed.next(session);
      if (entries) post(shown, entries);
      this.postState(shown, state);
    }
  }

  private postState(shown: Shown, state: StateView): void {
    const text = JSON.stringify(state);
    if (text === shown.state) return;
    shown.state = text;
    post(shown, { kind: "state", state });
  }

  private cards(): Card[] {
    const hasFolder = (vscode.workspace.workspaceFolders?.length ?? 0) > 0;
    return cardsOf(this.store.active, { hasFolder, isTrusted: vscode.workspace.isTrusted }, relative);
  }
}

function post({ webview }: Shown, update: Update): void {
  void webview.postMessage(update);
}
