// The page with the active session's conversation, updated while the agent works.

import * as vscode from "vscode";
import { throttled } from "../ui/throttle";
import { relative } from "../review/editsView";
import { conversationMarkdown } from "./markdown";
import { MarkdownPages } from "../ui/markdownPages";
import { scheme } from "../protocol";
import type { Sessions } from "./sessions";
import type { Store } from "../state";

/** One page for all sessions, so that an open page can change to another session without coming to the front. */
const PAGE = vscode.Uri.from({ scheme: scheme.conversation, authority: "shown", path: "/Conversation.md" });

export class Conversation implements vscode.Disposable {
  private readonly pages = new MarkdownPages(scheme.conversation, () => this.text());
  private readonly redraw = throttled(() => {
    this.pages.redraw(PAGE);
  }, 200);
  private readonly disposables: { dispose(): unknown }[];

  /** `restored` resolves when the sessions of an earlier window are loaded. */
  constructor(
    private readonly store: Store,
    private readonly sessions: Sessions,
    private readonly restored: Promise<void>,
  ) {
    const unsubscribe = store.onChange((change, session) => {
      // "sessions": another session may have become the active one
      if (session === store.active || change === "sessions") this.redraw.schedule();
    });
    this.disposables = [{ dispose: unsubscribe }, this.redraw, this.pages];
  }

  /** Opens the active session's conversation. */
  async show(): Promise<void> {
    await this.restored;
    if (this.store.active) await this.pages.show(PAGE);
    else void vscode.window.showInformationMessage("There is no conversation yet. Run a task first.");
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** The whole page. It waits for the transcript, because a page that VS Code is loading can miss a change. */
  private async text(): Promise<string> {
    await this.restored;
    await this.sessions.transcriptLoaded(this.store.active);
    const session = this.store.active;
    return session ? conversationMarkdown(session, relative) : "*There is no conversation yet.*\n";
  }
}
