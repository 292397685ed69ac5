// Restores the sessions of an earlier window.

import * as vscode from "vscode";
import { method, type SessionList } from "../protocol";
import type { AgentServer } from "../server/server";
import type { Store } from "../state";

/**
 * Starts the server if there are saved sessions, and waits until their list is in the store. The server reads them from `folder`, which it
 * gets at its start.
 */
export async function restoreSessions(
  folder: vscode.Uri | undefined,
  server: AgentServer,
  store: Store,
): Promise<void> {
  if (folder === undefined || !(await hasSavedSessions(vscode.Uri.joinPath(folder, "sessions")))) return;
  // A page that is drawn before the list has no title and no transcript.
  const list = await server.request<SessionList>(method.listSessions, {}).catch(() => undefined); // the user has seen the reason
  if (list) store.setRows(list.sessions);
}

async function hasSavedSessions(folder: vscode.Uri): Promise<boolean> {
  try {
    return (await vscode.workspace.fs.readDirectory(folder)).some(([name]) => name.endsWith(".jsonl"));
  } catch {
    return false;
  }
}
