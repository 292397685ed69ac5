// The conversation as a document that grows while the agent works, shown by VS Code's own Markdown preview.

import * as vscode from "vscode";
import { relative } from "./editsView";
import { conversationMarkdown } from "./markdown";
import { scheme } from "./protocol";
import { coalesced } from "./coalesced";
import { type Store } from "./state";

/** One page for all sessions, so that an open one becomes that of the session which is shown, without being brought to the front. */
const PAGE = vscode.Uri.from({ scheme: scheme.conversation, authority: "shown", path: "/Conversation.md" });

export class Conversation implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly redraw = coalesced(() => {
    this.changed.fire(PAGE);
  }, 200);
  private readonly disposables: { dispose(): unknown }[];

  constructor(private readonly store: Store) {
    const unsubscribe = store.onChange((change, session) => {
      // with "sessions" another one may be shown
      if (session === store.active || change === "sessions") this.redraw.schedule();
    });
    // VS Code ignores a change that comes between its question for the text and the opening of the document
    const opened = vscode.workspace.onDidOpenTextDocument(({ uri }) => {
      if (uri.scheme === scheme.conversation) this.redraw.schedule();
    });
    this.disposables = [
      vscode.workspace.registerTextDocumentContentProvider(scheme.conversation, this),
      opened,
      { dispose: unsubscribe },
      this.redraw,
      this.changed,
    ];
  }

  provideTextDocumentContent(): string {
    const session = this.store.active;
    return session ? conversationMarkdown(session, relative) : "*There is no conversation yet.*\n";
  }

  /** Shows the active session's conversation beside what is open. */
  async show(): Promise<void> {
    if (!this.store.active) {
      void vscode.window.showInformationMessage("There is no conversation yet. Give the agent a task first.");
      return;
    }
    await showMarkdown(PAGE);
    // a page that a reload restored may have missed a change while it was loading
    await vscode.commands.executeCommand("markdown.preview.refresh").then(undefined, () => undefined);
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }
}

/** Shows a Markdown document as a page. */
export async function showMarkdown(uri: vscode.Uri): Promise<void> {
  try {
    await vscode.commands.executeCommand("markdown.showPreview", uri);
  } catch {
    // the Markdown preview is an extension of its own, which can be disabled
    await vscode.window.showTextDocument(uri, { preview: false });
  }
}
