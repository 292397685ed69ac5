// One window for many test files. Before a file begins, everything that the previous file left is removed: the server
// and its saved sessions, the workspace's files, open editors and notifications. The extension host restarts, the
// window does not.

import fs from "node:fs";
import path from "node:path";
import { openEditor, writeFiles } from "./host/editor.mjs";
import { temporaryFile } from "./host/temporary.mjs";
import { hostPids, serverPids } from "./host/processes.mjs";

const VIEWPORT = { width: 1280, height: 800 };
const REPLAY = "fairlead.replay";
const RESTART = "Restart Remote Extension Host";

let shared;
let tainted = false;

/**
 * Like `openEditor`, but reuses the window of an earlier test, unless a test failed in it. All options must be the same
 * except the name, the workspace's files, the viewport and the recording (`fairlead.replay`). `close()` leaves the
 * window open.
 */
export async function openShared({ workspace = {}, settings, viewport = VIEWPORT, ...rest }) {
  const { [REPLAY]: recording, ...others } = settings;
  const key = JSON.stringify({ others, rest: { ...rest, name: undefined } });
  if (tainted || shared?.key !== key) await closeShared();
  if (shared && !(await clear(shared.editor))) await closeShared();
  shared ??= { key, ...(await open({ settings: others, ...rest })) };
  const { editor, replay } = shared;
  fs.copyFileSync(recording, replay);
  writeFiles(editor.workspace, workspace);
  await editor.page.setSize(viewport);
  return { ...editor, close: async () => {} };
}

/** After a failed test the state of the window is unknown, so the next test that needs a window gets a new one. */
export function taint() {
  tainted = true;
}

/** Closes the window; fails if it leaves a process. */
export async function closeShared() {
  const open = shared;
  shared = undefined;
  tainted = false;
  await open?.editor.close();
}

async function open(options) {
  const replay = temporaryFile("script.replay.yaml");
  return { replay, editor: await openEditor({ ...options, settings: { ...options.settings, [REPLAY]: replay } }) };
}

/** Removes what earlier tests left. Returns false if VS Code did not restart its extension host. */
async function clear({ page, code, workspace }) {
  await closeEditors(page);
  await closeConversation(page);
  await page.showContainer("Fairlead");
  const before = activations(code);
  // killed, so that they cannot save anything else that the next test would find
  for (const pid of [...serverPids(code), ...hostPids(code)]) process.kill(pid, "SIGKILL");
  for (const storage of extensionStorages(code)) fs.rmSync(storage, { recursive: true, force: true });
  for (const name of fs.readdirSync(workspace)) fs.rmSync(path.join(workspace, name), { recursive: true, force: true });
  // The window restarts its extension host automatically three times in five minutes; after that, it asks. On a busy machine it may not
  // restart the host at all, because it must learn within two seconds how the host ended.
  const restarted = async () => {
    if ((await page.toasts()).some(({ buttons }) => buttons.includes(RESTART))) await page.toastButton("", RESTART);
    return activations(code) > before;
  };
  if (!(await page.until("the extension to start again", restarted).catch(() => false))) return false;
  await page.runCommand("View: Show Explorer");
  await page.runCommand("Notifications: Clear All Notifications");
  return true;
}

const activations = (code) => code.logs().match(/activated in [\d.]+ ms/g)?.length ?? 0;

function extensionStorages(code) {
  const user = path.join(code.userDataDir, "User");
  const ids = fs.readdirSync(path.join(user, "workspaceStorage"));
  return [
    path.join(user, "globalStorage", "fairlead.fairlead"),
    path.join(user, "globalStorage", "fairlead-sessions"),
    ...ids.map((id) => path.join(user, "workspaceStorage", id, "fairlead.fairlead")),
  ];
}

export async function closeConversation(page) {
  const bar = page.page.locator(".part.auxiliarybar");
  if (await bar.isVisible()) await page.runCommand("View: Toggle Secondary Side Bar Visibility");
  await page.until("no secondary side bar", async () => !(await bar.isVisible()));
}

async function closeEditors(page) {
  await page.press("Escape");
  await page.until("no open editor", async () => {
    if (await page.dialog.now()) await page.pressDialog("Don't Save");
    else if ((await page.page.locator(".editor-group-container .tab").count()) === 0) return true;
    else for (const keys of ["Control+K", "Control+W"]) await page.press(keys);
    return false;
  });
}
