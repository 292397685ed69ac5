// Moves the sessions of a folder that was renamed to the folder that is open now, after the user has chosen both.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { method, type FormerFolder } from "../../wire/protocol";
import { orShowWarning } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import { oneOrMany } from "../../ui/format";
import { pick, showBriefly, showInformation, type PickTexts } from "../../ui/show";

export async function adoptSessions(server: AgentServer): Promise<void> {
  const found = await orShowWarning(() => server.request(method.formerFolders, {}));
  if (!found) return;
  if (found.folders.length === 0) {
    void showInformation(t("All folders that have saved sessions still exist."));
    return;
  }
  const chosen = await pick(found.folders.map(choice), {
    title: t("Agent: Adopt the Sessions of a Renamed Folder"),
    placeholder: t("Choose the path that this folder had before."),
  });
  const folder = chosen && (await pickFolder());
  if (!folder) return;
  const params = { former: chosen.uri, folder: folder.uri.toString() };
  const result = await orShowWarning(() => server.request(method.adoptSessions, params));
  const listed = t("{0} sessions now belong to “{1}”.", result?.adopted ?? 0, folder.name);
  if (result) showBriefly(oneOrMany(result.adopted, t("1 session now belongs to “{0}”.", folder.name), listed));
}

function choice({ uri, sessions }: FormerFolder): PickTexts & { readonly uri: string } {
  const { fsPath } = vscode.Uri.parse(uri);
  const description = oneOrMany(
    sessions,
    t("1 session from this path, which no longer exists"),
    t("{0} sessions from this path, which no longer exists", sessions),
  );
  return { label: fsPath, description, uri };
}

async function pickFolder(): Promise<vscode.WorkspaceFolder | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders.length > 1 ? vscode.window.showWorkspaceFolderPick() : folders[0];
}
