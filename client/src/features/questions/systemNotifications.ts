// Notifications of the operating system about what waits for the user and about the end of a run, while the window does
// not have the focus. VS Code has no API for them, so a program shows them.

import { spawn } from "node:child_process";
import * as vscode from "vscode";
import { relative } from "../../ui/folders";
import type { Store } from "../../state/store";
import { notificationProgram } from "./notificationProgram";
import { endNotices, noticesOf } from "./noticeTexts";

/** Shows them until the result is disposed. */
export function watchForNotifications(store: Store): vscode.Disposable {
  /** What the notices at the last change were about, so that the user is notified of each only once. */
  let known: ReadonlySet<object> = new Set();
  const unsubscribe = store.onChange((change) => {
    if (change !== "approvals" && change !== "run") return;
    // only sessions that ran in this window: the user already knows what has been waiting since an earlier window
    const sessions = store.sessions.filter(({ runsStarted }) => runsStarted > 0);
    const notices = sessions.flatMap((session) => [...noticesOf(session, relative), ...endNotices(session)]);
    for (const { about, text } of notices) if (!known.has(about)) notify(text);
    known = new Set(notices.map(({ about }) => about));
  });
  return new vscode.Disposable(unsubscribe);
}

/** Shows a notification of the operating system, unless the window has the focus or the user wants none. */
function notify(text: string): void {
  const configuration = vscode.workspace.getConfiguration("fairlead");
  if (vscode.window.state.focused || !configuration.get<boolean>("notifications", true)) return;
  const own = configuration.get<string[]>("notificationCommand", []);
  // on a remote machine, the system's own program would show it to nobody
  if (own.length === 0 && vscode.env.remoteName !== undefined) return;
  const program = notificationProgram(text, process.platform, own);
  if (!program) return;
  const { file, args, env } = program;
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: "ignore", windowsHide: true });
  child.on("error", () => undefined); // without the program, the notice in the window remains
  child.unref();
}
