// Stops, rejections, and a server that dies: the run ends, files are unchanged, and the next task works.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { bash, edit, picture, plan, runTask, serverPids, useAgent } from "./agent.mjs";

const command = "echo one\nsleep 300 # and much more\necho \u202eoverride";
const turns = [
  { calls: [plan(["Wait", "in_progress", "Waiting"]), edit("a.txt", "a", "b"), bash(command)] },
  { text: "It was refused." },
  { text: "Again." },
];
const editorTest = useAgent(turns, { settings: { "fairlead.approvals": "ask" }, workspace: { "a.txt": "a\n" } });
// VS Code shows at most three messages at a time as toasts and puts the others into its list; the view shows all
const waits = (page) => page.rows("Plan", (rows) => rows[0]?.label.startsWith("Allow") ?? false);
const content = (workspace) => fs.readFileSync(path.join(workspace, "a.txt"), "utf8");

editorTest("a long command can be read in full before the user decides, and rejected", async ({ page }) => {
  await runTask(page, "Wait for it");
  const asked = await page.toast("asks to run a 3-line command");
  assert.deepEqual(asked.buttons, ["Show Full Command", "Reject"]);
  await page.toastButton("asks to run a 3-line command", "Show Full Command");
  const { detail, buttons } = await page.dialog();
  assert.ok(detail.includes("sleep 300 # and much more") && detail.includes("\\u{202e}override"), detail);
  assert.deepEqual(buttons.sort(), [
    "Allow Once",
    "Allow for This Session",
    "Decide Later",
    "Reject",
    "Reject Because...",
  ]);
  await picture(page, "dialog");
  await page.press("Escape");
  await page.until("no dialog", async () => !(await page.dialog.now()));
  await waits(page);
  await page.clickStatus("fairlead.status");
  await page.dialog();
  await page.press("Enter");
  await page.toast("It was refused.");
  const asks = ({ message }) => message.includes("asks to run");
  await page.until("the notice to disappear", async () => !(await page.toasts()).some(asks));
});

editorTest(
  "stopping a run removes the question and the spinning icon, and the proposals stay",
  async ({ page, workspace }) => {
    await runTask(page, "Once more");
    await waits(page);
    await page.runCommand("Agent: Stop");
    const rows = await page.rows("Plan", (all) => all[0]?.label === "Wait");
    await page.until("a row that does not spin", async () => (await page.rows("Plan"))[0].icon === "debug-pause");
    assert.equal(rows[0].label, "Wait");
    await page.rows("Proposed Changes", (all) => all.some((row) => row.label === "a.txt"));
    assert.equal(content(workspace), "a\n");
  },
);

editorTest("a file can be rejected in the title bar of its diff", async ({ page, workspace }) => {
  await page.clickRow("Proposed Changes", "Line 1");
  await page.diffLines("modified", { wanted: (lines) => lines.includes("b") });
  const left = (count) =>
    page.until(
      `${count} left`,
      async () => (await page.rows("Proposed Changes", () => true)).filter(({ level }) => level === 1).length === count,
    );
  await left(2);
  await page.titleAction("Reject This File");
  await left(1);
  await page.diffLines("modified", { wanted: (lines) => lines.includes("b") });
  await page.titleAction("Reject This File");
  await page.until("the diff to be closed", async () => (await page.tabs()).length === 0);
  assert.equal(content(workspace), "a\n");
});

editorTest(
  "if the server is killed, the crash is reported, files stay unchanged, and a new server runs the next task",
  async ({ page, code, workspace }) => {
    await runTask(page, "A third time");
    await waits(page);
    const [pid, ...others] = serverPids(code);
    assert.deepEqual(others, []);
    process.kill(pid, "SIGKILL");
    await page.runCommand("Notifications: Show Notifications");
    const messages = () => page.page.locator(".notifications-center .notification-list-item-message").allInnerTexts();
    await page.until("the message", async () =>
      (await messages()).some((text) => /The server crashed\. Your files are unchanged/.test(text)),
    );
    await page.until("another server", () => serverPids(code).length === 1 && serverPids(code)[0] !== pid);
    assert.equal(content(workspace), "a\n");
    await runTask(page, "After the restart");
    await waits(page);
    await page.rowAction("Plan", (row) => row.label.startsWith("Allow"), "Reject");
    await page.until(
      "the end of the run",
      async () => !(await page.rows("Plan")).some((row) => row.icon.includes("spin")),
    );
  },
);

editorTest("a server that the user restarts during a run is not reported as crashed", async ({ page, code }) => {
  await runTask(page, "Before the restart");
  await waits(page);
  const [pid] = serverPids(code);
  await page.runCommand("Notifications: Clear All Notifications");
  await page.runCommand("Agent: Stop and Restart Server");
  const { buttons } = await page.toast("The server was stopped. Your files are unchanged. Continue?");
  assert.ok(buttons.includes("Continue"), String(buttons));
  await page.until("another server", () => serverPids(code).length === 1 && serverPids(code)[0] !== pid);
  assert.ok(!(await page.toasts()).some(({ message }) => message.includes("crashed")));
});
