// The conversation as a document that grows while the agent works, shown by VS Code's own Markdown preview.

import * as vscode from "vscode";
import { relative } from "./editsView";
import { conversationMarkdown } from "./markdown";
import { scheme } from "./protocol";
import { coalesced } from "./coalesced";
import { type Store } from "./state";

const NAME = "Conversation.md";

export class Conversation implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly stale = new Set<string>();
  private readonly redraw = coalesced(() => {
    for (const id of this.stale) this.changed.fire(documentUri(id));
    this.stale.clear();
  }, 200);
  private readonly disposables: { dispose(): unknown }[];

  constructor(private readonly store: Store) {
    const unsubscribe = store.onChange((_, session) => {
      this.stale.add(session.id);
      this.redraw.schedule();
    });
    this.disposables = [
      vscode.workspace.registerTextDocumentContentProvider(scheme.conversation, this),
      { dispose: unsubscribe },
      this.redraw,
      this.changed,
    ];
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const session = this.store.get(uri.authority);
    return session ? conversationMarkdown(session, relative) : "*This conversation is no longer there.*\n";
  }

  /** Shows the active session's conversation beside what is open. */
  async show(): Promise<void> {
    const session = this.store.active;
    if (!session) {
      void vscode.window.showInformationMessage("There is no conversation yet. Give the agent a task first.");
      return;
    }
    await showMarkdown(documentUri(session.id));
  }

  /** A conversation that is open becomes that of the session which is shown now. */
  async follow(): Promise<void> {
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    if (tabs.some(({ input, label }) => input instanceof vscode.TabInputWebview && label.endsWith(NAME))) await this.show();
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }
}

function documentUri(sessionId: string): vscode.Uri {
  return vscode.Uri.from({ scheme: scheme.conversation, authority: sessionId, path: `/${NAME}` });
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
