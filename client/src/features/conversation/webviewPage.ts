// A webview with the conversation, and what it has been sent.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { EntryFeed } from "./entryFeed";
import type { Update } from "./messages";
import { pageHtml } from "./page";
import { relative } from "../../ui/folders";
import type { Edits } from "../../wire/protocolStates";

/** A webview with the conversation. */
export interface Page {
  readonly webview: vscode.Webview;
  readonly feed: EntryFeed;
  /** The state that the webview has, as JSON; empty if it has none. */
  state: string;
  /** Whether its page is loaded and gets updates. */
  isReady: boolean;
  /** The session whose draft it has; undefined if it has none. */
  session: string | undefined;
  /** Whether that was a placeholder, before the server had created the session. */
  isStarting: boolean;
  /** The entries whose changes it shows, and the changes that it has. */
  readonly unfolded: Set<number>;
  edits: Edits | undefined;
}

/** Loads the page into a webview. `extension` is the folder of the extension. */
export function loadPage(webview: vscode.Webview, extension: vscode.Uri): Page {
  const dist = vscode.Uri.joinPath(extension, "dist");
  const source = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(dist, name)).toString();
  webview.options = { enableScripts: true, localResourceRoots: [dist] };
  webview.html = pageHtml({
    script: source("conversation.js"),
    codeScript: source("conversation-code.js"),
    style: source("conversation-style.css"),
    cspSource: webview.cspSource,
    nonce: randomBytes(16).toString("hex"),
    ...(vscode.l10n.bundle && { language: vscode.env.language, texts: vscode.l10n.bundle }),
  });
  const feed = new EntryFeed(relative);
  return {
    webview,
    feed,
    state: "",
    isReady: false,
    session: undefined,
    isStarting: false,
    unfolded: new Set(),
    edits: undefined,
  };
}

/**
 * Notes that a webview has no content: VS Code has discarded its page because it is hidden, or has just loaded the page
 * again because it is shown.
 */
export function markUnloaded(page: Page): void {
  Object.assign(page, { isReady: false, state: "", session: undefined });
  page.unfolded.clear();
  page.feed.reset();
}

/** Sends a page an update. */
export function post({ webview }: Page, update: Update): void {
  void webview.postMessage(update);
}
