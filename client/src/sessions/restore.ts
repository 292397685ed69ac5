// Restores the sessions of an earlier window.

import * as vscode from "vscode";
import type { AgentServer } from "../server/server";

/** Starts the server if there are saved sessions. It reads them from `folder`, which it gets at its start. */
export async function restoreSessions(folder: vscode.Uri | undefined, server: AgentServer): Promise<void> {
  if (folder === undefined || !(await hasSavedSessions(vscode.Uri.joinPath(folder, "sessions")))) return;
  await server.started().catch(() => undefined); // the user has seen the reason
}

async function hasSavedSessions(folder: vscode.Uri): Promise<boolean> {
  try {
    return (await vscode.workspace.fs.readDirectory(folder)).some(([name]) => name.endsWith(".jsonl"));
  } catch {
    return false;
  }
}
