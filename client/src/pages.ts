// What the server writes as a page of Markdown: the plan's history, shown, and the record of the work, copied.

import * as vscode from "vscode";
import { showMarkdown } from "./conversation";
import { safeMarkdown } from "./markdown";
import { method, scheme, type PageResult } from "./protocol";
import { NotStarted, type AgentServer } from "./server";
import type { Store } from "./state";

export class Pages implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly texts = new Map<string, string>();
  private readonly registration: vscode.Disposable;

  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
  ) {
    this.registration = vscode.workspace.registerTextDocumentContentProvider(scheme.page, this);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.authority) ?? "*This page is no longer there.*\n";
  }

  /** Shows every version of the active session's plan. */
  async showHistory(): Promise<void> {
    const page = await this.ask(method.planHistory);
    if (!page) return;
    await this.show(vscode.Uri.from({ scheme: scheme.page, authority: page.sessionId, path: "/Plan History.md" }), page.markdown);
  }

  /** Shows where commands run here, when they ask, and what the person's rules match. */
  async showCommandRules(): Promise<void> {
    const markdown = await this.request(method.commandRules, {});
    if (markdown === undefined) return;
    await this.show(vscode.Uri.from({ scheme: scheme.page, authority: "commands", path: "/How Commands Run.md" }), markdown);
  }

  /** Copies the record of the active session's work, for a pull request. */
  async copyRecord(): Promise<void> {
    const page = await this.ask(method.record);
    if (!page) return;
    await vscode.env.clipboard.writeText(page.markdown);
    vscode.window.setStatusBarMessage("The record of the work is copied.", 5000);
  }

  dispose(): void {
    this.registration.dispose();
    this.changed.dispose();
  }

  private async ask(name: string): Promise<{ sessionId: string; markdown: string } | undefined> {
    const sessionId = this.store.active?.id;
    if (sessionId === undefined) {
      void vscode.window.showInformationMessage("There is nothing on record yet. Give the agent a task first.");
      return undefined;
    }
    const markdown = await this.request(name, { sessionId });
    return markdown === undefined ? undefined : { sessionId, markdown };
  }

  private async show(uri: vscode.Uri, markdown: string): Promise<void> {
    this.texts.set(uri.authority, safeMarkdown(markdown));
    this.changed.fire(uri);
    await showMarkdown(uri);
  }

  private async request(name: string, params: object): Promise<string | undefined> {
    try {
      return (await this.server.request<PageResult>(name, params)).markdown;
    } catch (error) {
      if (!(error instanceof NotStarted)) void vscode.window.showWarningMessage(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }
}
