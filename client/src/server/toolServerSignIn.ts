// Signs the user in to a tool server: asks for the values that it needs, and opens the page of a remote one, from which
// the browser comes back to a page here.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { openCallbackPage, type CallbackPage } from "./callbackPage";
import { messageOf, NotStarted } from "./errors";
import type { AgentServer } from "./server";
import {
  method,
  type AuthorizeParams,
  type AuthorizeResult,
  type EnterParams,
  type EnterResult,
} from "../wire/protocol";
import type { ToolServer } from "../wire/protocolStates";
import { askForText, pick, showError, showInformation, withProgress } from "../ui/show";

export class ToolServerSignIn {
  /** The pages that a browser may come back to, by the name of the server. */
  private readonly pages = new Map<string, CallbackPage>();

  constructor(private readonly agent: AgentServer) {}

  /** Signs in to a server, or to the one that the user chooses. Shows what happened. */
  async signIn(name?: string): Promise<void> {
    try {
      const server = name ?? (await this.choose());
      if (server !== undefined && !this.pages.has(server)) await this.signInTo(server);
    } catch (error) {
      if (!(error instanceof NotStarted)) await showError(messageOf(error));
    }
  }

  /** Answers the server's request to open the page of a sign-in. Opens nothing that the user has not asked for. */
  async authorize({ server, url }: AuthorizeParams, token: vscode.CancellationToken): Promise<AuthorizeResult> {
    const page = this.pages.get(server);
    const address = vscode.Uri.parse(url, true);
    if (!page || !["https", "http"].includes(address.scheme)) return { callbackUrl: null };
    if (!(await vscode.env.openExternal(address))) return { callbackUrl: null };
    const cancelled = new Promise<null>((resolve) => {
      token.onCancellationRequested(() => {
        resolve(null);
      });
    });
    return { callbackUrl: await Promise.race([page.asked, cancelled]) };
  }

  /** Answers the server's request for a value that a tool server needs. */
  async enter({ server, question, isSecret, default: value, options }: EnterParams): Promise<EnterResult> {
    const texts = { title: t("The tool server {0} needs a value", server), prompt: question };
    if (options.length > 0) {
      const rows = options.map((label) => ({ label, description: label === value ? t("default") : "" }));
      return { value: (await pick(rows, { ...texts, placeholder: question }, true))?.label ?? null };
    }
    return { value: (await askForText(texts, { value, password: isSecret, ignoreFocusOut: true })) ?? null };
  }

  private async choose(): Promise<string | undefined> {
    const { servers } = await this.agent.request(method.toolServersList, {});
    const shown = servers.filter(({ isRemote, hasInputs, state }) => (isRemote || hasInputs) && state !== "disabled");
    if (shown.length === 0) {
      await showInformation(t("There is no tool server that one can sign in to. Run “Agent: Add Tool Server...”."));
      return undefined;
    }
    const rows = shown.map(({ name, command, isRemote }: ToolServer) => ({
      icon: isRemote ? "globe" : "terminal",
      label: name,
      description: command,
      name,
    }));
    return (await pick(rows, { title: t("Sign In to Tool Server"), placeholder: t("Choose a tool server") }))?.name;
  }

  private async signInTo(server: string): Promise<void> {
    const page = await openCallbackPage(t("You can close this page and go back to VS Code."));
    this.pages.set(server, page);
    try {
      // in a remote window, the browser runs on another machine than the extension
      const redirect = await vscode.env.asExternalUri(vscode.Uri.parse(page.url, true));
      const title = t("Signing in to {0}...", server);
      const isSignedIn = await withProgress({ title, cancellable: true }, async (_, token) => {
        const params = { server, redirectUri: redirect.toString(true) };
        try {
          await this.agent.request(method.logIn, params, token);
          return true;
        } catch (error) {
          if (token.isCancellationRequested) return false;
          throw error;
        }
      });
      if (isSignedIn) void showInformation(t("You are signed in to {0}.", server));
    } finally {
      this.pages.delete(server);
      page.close();
    }
  }
}
