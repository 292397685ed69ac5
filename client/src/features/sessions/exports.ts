// Saves a conversation as a file.

import { homedir } from "node:os";
import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { conversationMarkdown, fileName } from "./exportText";
import { orShowWarning } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import type { Store } from "../../state/store";
import { method } from "../../wire/protocol";
import { pick, showInformation, type PickTexts } from "../../ui/show";

/** The folder of the last export. */
const FOLDER_KEY = "fairlead.exportFolder";

const FORMATS: readonly (PickTexts & { readonly ending: string })[] = [
  { label: "Markdown", detail: t("To read. What the agent did is folded, with its changes as diffs."), ending: "md" },
  { label: "JSON", detail: t("For programs. Everything that the conversation consists of."), ending: "json" },
];

/** Asks for the format and where to save the active session's conversation, and saves it. */
export async function exportConversation(store: Store, server: AgentServer, memory: vscode.Memento): Promise<void> {
  const session = store.active;
  if (!session) {
    void showInformation(t("There is no session yet. Run a task first."));
    return;
  }
  const { id: sessionId, title } = session;
  const texts = { title: t("Agent: Export Conversation"), placeholder: t("Export as which format?") };
  const format = await pick(FORMATS, texts);
  if (!format) return;
  const opened = await orShowWarning(() => server.request(method.openSession, { sessionId }));
  if (!opened) return;
  // not the workspace, where the file would be committed with the code
  const last = memory.get<string>(FOLDER_KEY);
  const folder = last === undefined ? vscode.Uri.file(homedir()) : vscode.Uri.parse(last);
  const uri = await vscode.window.showSaveDialog({
    title: t("Export Conversation"),
    filters: { [format.label]: [format.ending] },
    defaultUri: vscode.Uri.joinPath(folder, `${fileName(title)}.${format.ending}`),
  });
  if (!uri) return;
  const text =
    format.ending === "json"
      ? `${JSON.stringify({ title, ...opened }, null, 2)}\n`
      : conversationMarkdown(title, opened);
  const saved = await orShowWarning(async () => {
    await vscode.workspace.fs.writeFile(uri, Buffer.from(text));
    await memory.update(FOLDER_KEY, vscode.Uri.joinPath(uri, "..").toString());
    return true;
  });
  if (!saved) return;
  const open = t("Open");
  if ((await showInformation(t("Conversation exported."), open)) === open)
    await vscode.window.showTextDocument(uri, { preview: false });
}
