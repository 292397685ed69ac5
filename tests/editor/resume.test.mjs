// A real VS Code whose window is reloaded during a run with open diffs, after a finished task, and during a question.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { ROOT, edit, picture, plan, runTask, serverPids, useAgent } from "./agent.mjs";

const PLAN = "Plan";
const SESSIONS = "Sessions";
const CHANGES = "Proposed Changes";
const REVIEW = "Proposed: Greet me (1 file)";
const ask = (question) => ({ ask_user: { question } });
const editorTest = useAgent(
  [
    {
      calls: [
        plan(["Greet", "in_progress", "Greeting"], ["Say goodbye"]),
        edit("a.txt", "one", "hello"),
        ask("Shall I go on?"),
      ],
    },
    { text: "All of it is done." },
  ],
  { workspace: { "a.txt": "one\n" }, viewport: { width: 1280, height: 1200 }, own: true },
);
const described =
  (...parts) =>
  (rows) =>
    rows.length === 1 && parts.every((part) => rows[0].description.includes(part));

/**
 * Runs in the page. Returns whether the tabs that VS Code has saved contain a text. In a browser, VS Code saves its
 * tabs only every few seconds.
 */
async function isSaved(text) {
  const done = (request) =>
    new Promise((resolve, reject) =>
      Object.assign(request, { onsuccess: () => resolve(request.result), onerror: () => reject(request.error) }),
    );
  for (const { name } of await indexedDB.databases()) {
    if (!name.startsWith("vscode-web-state-db-")) continue;
    const database = await done(indexedDB.open(name));
    const saved = await done(
      database.transaction("ItemTable").objectStore("ItemTable").get("memento/workbench.parts.editor"),
    ).finally(() => database.close());
    if (String(saved).includes(text)) return true;
  }
  return false;
}

const HOLD = `
import fcntl, sys
held = [open(path, "r+") for path in sys.argv[1:]]
for file in held: fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
`;

/** Takes the lock of each session, and holds it until `release()`. Call it while no server runs. */
async function holdSessions({ userDataDir }) {
  const locks = fs
    .readdirSync(userDataDir, { recursive: true })
    .filter((file) => /sessions.[0-9a-f]+\.lock$/.test(file));
  const holder = spawn(path.join(ROOT, ".venv/bin/python"), [
    "-c",
    HOLD,
    ...locks.map((file) => path.join(userDataDir, file)),
  ]);
  await once(holder.stdout, "data");
  return () => holder.kill("SIGKILL");
}

editorTest(
  "a window that is reloaded during a run shows the run as paused, with its plan and proposals",
  async ({ page, workspace }) => {
    await page.showContainer("Fairlead");
    await runTask(page, "Greet me");
    await page.rows(PLAN, (rows) => rows.some(({ label }) => label === "Answer: Shall I go on?"));
    await page.clickRow(CHANGES, "a.txt");
    await page.tab("a.txt (proposed)");
    await page.runCommand("View: Keep Editor");
    await page.runCommand("Agent: Review All Changes");
    await page.tab(REVIEW);
    await page.until("the tab in what VS Code saves of the window", () =>
      page.page.evaluate(isSaved, "Proposed: Greet me"),
    );
    await page.reload();
    await page.showContainer("Fairlead");
    await page.runCommand("Fairlead: Focus on Sessions View");
    const rows = await page.rows(SESSIONS, described("paused", "0/2", "1 file"));
    assert.match(rows[0].name, /^Greet me, shown, paused/);
    const [paused] = await page.rows(PLAN, (all) => all.some(({ label }) => label === "Say goodbye"));
    assert.deepEqual([paused.label, paused.description], ["Continue", "The run stopped before it finished."]);
    await page.rows(CHANGES, (all) => all.some(({ label }) => label === "a.txt"));
    assert.equal(fs.readFileSync(path.join(workspace, "a.txt"), "utf8"), "one\n");
    await picture(page, "interrupted");
  },
);

editorTest("the open diffs are restored with both sides", async ({ page }) => {
  await page.tab(REVIEW);
  for (const [side, text] of [
    ["original", "one"],
    ["modified", "hello"],
  ])
    await page.diffLines(side, { file: "a.txt", wanted: (lines) => lines.includes(text) });
  await picture(page, "review-after-reload");
  await page.clickTab("a.txt (proposed)");
  await page.tab("a.txt (proposed)");
  for (const [side, text] of [
    ["original", "one"],
    ["modified", "hello"],
  ])
    await page.diffLines(side, { wanted: (lines) => lines.includes(text) });
  await picture(page, "diff-after-reload");
});

editorTest(
  "the session survives if VS Code deletes the extension's storage after an uninstall",
  async ({ page, code }) => {
    fs.rmSync(path.join(code.userDataDir, "User/globalStorage/fairlead.fairlead"), { recursive: true, force: true });
    await page.reload();
    await page.showContainer("Fairlead");
    await page.runCommand("Fairlead: Focus on Sessions View");
    await page.rows(SESSIONS, described("paused", "0/2", "1 file"));
  },
);

editorTest("nothing runs without the user; Continue Session finishes the run", async ({ page }) => {
  assert.ok(!(await page.rows(PLAN)).some(({ icon, label }) => icon.includes("spin") || label.startsWith("Answer")));
  await page.rowAction(SESSIONS, "Greet me", "Continue Session");
  await page.fillInput("Go on", { title: "Agent: Continue “Greet me”" });
  await page.rows(PLAN, (rows) => rows.some(({ label }) => label === "Answer: Shall I go on?"));
  await page.clickRow(PLAN, "Answer: Shall I go on?");
  await page.fillInput("Yes", { title: "Agent: Answer" });
  await page.toast("All of it is done.");
});

editorTest(
  "with everything decided, the session is listed as open in another window, and shown once that has released it",
  async ({ page, code, workspace }, context) => {
    await page.rowAction(CHANGES, "a.txt", "Accept");
    await page.until("the text on disk", () => fs.readFileSync(path.join(workspace, "a.txt"), "utf8") === "hello\n");
    await page.until(
      "the diffs closed",
      async () => !(await page.tabs()).some(({ label }) => label === REVIEW || label.startsWith("a.txt (")),
    );
    let release;
    context.after(() => release?.());
    await page.reload(async () => {
      await page.until("the end of the server", () => serverPids(code).length === 0);
      release = await holdSessions(code);
    });
    await page.showContainer("Fairlead");
    await page.runCommand("Fairlead: Focus on Sessions View");
    const [row] = await page.rows(SESSIONS, described("open in another window"));
    assert.deepEqual([row.name, row.icon], ["Greet me, open in another window", "lock"]);
    await page.clickRow(SESSIONS, "Greet me");
    await page.toast("This session is open in another window or terminal.");
    await picture(page, "open-elsewhere");
    await page.runCommand("Agent: Show Conversation in Editor");
    release();
    await page.rows(SESSIONS, described("0/2"));
    await page.webview().locator("p", { hasText: "All of it is done." }).waitFor();
    await page.rows(PLAN, (all) => all.some(({ label }) => label === "Say goodbye"));
    await picture(page, "at-rest");
  },
);

editorTest("a question that a reload interrupts still proposes nothing when continued", async ({ page, workspace }) => {
  const asks = (rows) => rows.some(({ label }) => label === "Answer: Shall I go on?");
  fs.writeFileSync(path.join(workspace, "a.txt"), "one\n");
  await page.runCommand("Agent: Send Question...");
  await page.fillInput("What does it do?", { title: "Agent: Send Question" });
  await page.rows(PLAN, asks);
  await page.reload();
  await page.showContainer("Fairlead");
  await page.rows(PLAN, (rows) => rows[0]?.label === "Continue");
  await page.rowAction(PLAN, "Continue", "Continue Run");
  await page.rows(PLAN, asks);
  await page.rows(CHANGES, (rows) => rows.length === 0);
});

editorTest("the sessions of a renamed folder are offered and adopted", async ({ page, code, workspace }) => {
  const renamed = `${workspace} renamed`;
  await page.reload(async (address) => {
    await page.until("the end of the server", () => serverPids(code).length === 0);
    fs.renameSync(workspace, renamed);
    const url = new URL(address);
    url.searchParams.set("folder", renamed);
    return url.href;
  });
  await page.showContainer("Fairlead");
  await page.runCommand("Fairlead: Focus on Sessions View");
  await page.page.locator(".welcome-view a", { hasText: "Adopt the sessions of its former path" }).click();
  await page.pick(workspace, { title: "Agent: Adopt the Sessions of a Renamed Folder" });
  await page.rows(SESSIONS, described("paused", "0/2"));
  await page.clickRow(SESSIONS, "Greet me");
  await picture(page, "adopted");
  await page.rows(PLAN, (all) => all.some(({ label }) => label === "Say goodbye"));
});
