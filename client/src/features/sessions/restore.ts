// Restores the sessions of an earlier window.

import * as vscode from "vscode";
import { method } from "../../wire/protocol";
import type { AgentServer } from "../../server/server";
import { storageFolder } from "../../server/storage";
import type { Store } from "../../state/store";
import { savedSessions } from "./savedSessions";

/**
 * Starts the server if there are saved sessions of the open folders. Waits until their list is in the store or the
 * request has failed. Returns the ids of the saved sessions.
 */
export async function restoreSessions(
  context: vscode.ExtensionContext,
  server: AgentServer,
  store: Store,
): Promise<ReadonlySet<string>> {
  // parsed again, because the server gets the URI as text, in which the name of a network host is lower-cased
  const openFolders = (vscode.workspace.workspaceFolders ?? []).map(
    ({ uri }) => vscode.Uri.parse(uri.toString()).fsPath,
  );
  const saved = new Set(await savedSessions(storageFolder(context), openFolders));
  if (saved.size === 0) return saved;
  // wait for the list, because a conversation that is drawn without it has no title and no transcript; if the server
  // cannot start, the user has already seen why
  const list = await server.request(method.listSessions, {}).catch(() => undefined);
  if (list) store.setRows(list.sessions);
  return saved;
}
