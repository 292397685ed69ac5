// Saves a conversation as a file.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { conversationMarkdown, fileName } from "./exportText";
import { orShowWarning } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import { replayed } from "../../state/session";
import type { Store } from "../../state/store";
import { method } from "../../wire/protocol";
import { showInformation } from "../../ui/show";

/** Asks where to save the active session's conversation, and saves it: as JSON if the name ends so, else as Markdown. */
export async function exportConversation(store: Store, server: AgentServer): Promise<void> {
  const session = store.active;
  if (!session) {
    void showInformation(t("There is no session yet. Run a task first."));
    return;
  }
  const { id: sessionId, title } = session;
  const opened = await orShowWarning(() => server.request(method.openSession, { sessionId }));
  if (!opened) return;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const name = `${fileName(title)}.md`;
  const uri = await vscode.window.showSaveDialog({
    title: t("Export Conversation (.md or .json)"),
    filters: { Markdown: ["md"], JSON: ["json"] },
    ...(folder && { defaultUri: vscode.Uri.joinPath(folder, name) }),
  });
  if (!uri) return;
  const isJson = uri.path.toLowerCase().endsWith(".json");
  const text = isJson
    ? `${JSON.stringify({ title, ...opened }, null, 2)}\n`
    : conversationMarkdown(title, replayed(opened).entries);
  const saved = await orShowWarning(async () => {
    await vscode.workspace.fs.writeFile(uri, Buffer.from(text));
    return true;
  });
  if (!saved) return;
  const open = t("Open");
  if ((await showInformation(t("Conversation exported."), open)) === open)
    await vscode.window.showTextDocument(uri, { preview: false });
}
