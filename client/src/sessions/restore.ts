// Restores the sessions of an earlier window.

import * as vscode from "vscode";
import { method } from "../protocol";
import type { SessionList } from "../protocolStates";
import type { AgentServer } from "../server/server";
import type { Store } from "../state";

/** What follows the id in the file name of a saved session. */
const SUFFIX = ".jsonl";

/**
 * Starts the server if there are saved sessions in `folder`, from which the server reads them too. Waits until their
 * list is in the store or the request has failed. Returns the ids of the saved sessions, including those that an
 * earlier server still has open. Without a `folder`, there are none.
 */
export async function restoreSessions(
  folder: vscode.Uri | undefined,
  server: AgentServer,
  store: Store,
): Promise<ReadonlySet<string>> {
  const saved = folder === undefined ? new Set<string>() : await savedSessions(vscode.Uri.joinPath(folder, "sessions"));
  if (saved.size === 0) return saved;
  // wait for the list, because a conversation that is drawn without it has no title and no transcript; if the server
  // cannot start, the user has already seen why
  const list = await server.request<SessionList>(method.listSessions, {}).catch(() => undefined);
  if (list) store.setRows(list.sessions);
  return saved;
}

async function savedSessions(folder: vscode.Uri): Promise<Set<string>> {
  const names = await vscode.workspace.fs.readDirectory(folder).then(
    (files) => files.map(([name]) => name),
    () => [],
  );
  return new Set(names.filter((name) => name.endsWith(SUFFIX)).map((name) => name.slice(0, -SUFFIX.length)));
}
