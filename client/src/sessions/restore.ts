// Sessions that an earlier window left: where there are some, the server is started for them.

import * as vscode from "vscode";
import type { AgentServer } from "../server/server";

/** Brings back the sessions; the server reads them from the folder that it is given at its start. */
export async function restoreSessions(folder: vscode.Uri | undefined, server: AgentServer): Promise<void> {
  if (folder === undefined || !(await hasSavedSessions(vscode.Uri.joinPath(folder, "sessions")))) return;
  await server.started().catch(() => undefined); // the person has been told why not
}

async function hasSavedSessions(folder: vscode.Uri): Promise<boolean> {
  try {
    return (await vscode.workspace.fs.readDirectory(folder)).some(([name]) => name.endsWith(".jsonl"));
  } catch {
    return false;
  }
}
