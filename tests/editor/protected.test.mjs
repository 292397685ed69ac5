// The agent reads a secret and runs a command only with the user's approval, and a protected file is accepted only with a
// separate confirmation.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { bash, picture, runTask, useAgent, write } from "./agent.mjs";

const [VIEW, PLAN] = ["Proposed Changes", "Plan"];
const TASKS = ".vscode/tasks.json";
const editorTest = useAgent(
  [
    {
      calls: [{ read_file: { path: ".env" } }, write(TASKS, '{ "version": "2.0.0" }\n'), write("plain.txt", "plain\n")],
    },
    { text: "Proposed." },
    { calls: [bash("echo one > log && date")] },
    { calls: [bash("echo two > log"), bash("uname -a")] },
    { text: "Understood." },
  ],
  { workspace: { ".env": "TOKEN=1\n", "a.txt": "a\n" }, settings: { "fairlead.approvals": "ask" } },
);
const there = (workspace, name) => fs.existsSync(path.join(workspace, name));
const has = (label) => (rows) => rows.some((row) => row.label === label);

editorTest("the agent reads a secret only after the user allows it", async ({ page }) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Set it up");
  const asked = await page.toast("Allow “.env”? The agent wants to read this file, which looks like a secret.");
  assert.deepEqual(asked.buttons, ["Allow Once", "Reject", "More..."]);
  await page.rows(PLAN, has("Allow: .env"));
  await page.toastButton("Allow “.env”?", "Allow Once");
  await page.toast("Proposed.");
  await page.closeToast("Proposed.");
});

editorTest(
  "Accept All accepts the ordinary file and asks about the protected one, which Leave Pending leaves proposed",
  async ({ page, workspace }) => {
    const rows = await page.rows(VIEW, has("tasks.json"));
    const row = rows.find(({ label }) => label === "tasks.json");
    assert.match(row.description, /protected/);
    assert.equal(row.icon, "lock");
    await page.runCommand("Agent: Review All Changes");
    assert.deepEqual((await page.diffFiles(2)).sort(), ["plain.txt", "tasks.json"]);
    await page.runCommand("Agent: Accept All");
    const asked = await page.toast(
      `Accept “${TASKS}”? Accepting creates this protected file. It configures the editor`,
    );
    assert.deepEqual(asked.buttons, ["Accept This File", "Leave Pending"]);
    await page.rows(PLAN, has(`Confirm: ${TASKS}`));
    await page.until("the ordinary file", () => there(workspace, "plain.txt"));
    // the accepted file disappears from the diff of all files while the question is open
    await page.until("the other file", async () => (await page.diffFiles()).join() === "tasks.json");
    await page.toastButton(`Accept “${TASKS}”?`, "Leave Pending");
    await page.toast(
      "1 file accepted, 1 not: tasks.json (Not accepted: this file is protected, and you did not confirm it)",
    );
    await page.until(
      "the question gone",
      async () => !(await page.toasts()).some(({ message }) => message.includes("Accept “")),
    );
    assert.ok(!there(workspace, TASKS));
    await page.rows(VIEW, has("tasks.json"));
  },
);

editorTest("accepting a protected file in its row asks too; an undo does not", async ({ page, workspace }) => {
  await page.rowAction(VIEW, "tasks.json", "Accept");
  await page.toastButton(`Accept “${TASKS}”?`, "Accept This File");
  await page.until("the protected file", () => there(workspace, TASKS));
  await page.runCommand("Agent: Undo Review");
  await page.until("no protected file", () => !there(workspace, TASKS));
  await page.rows(VIEW, has("tasks.json"));
});

editorTest("pressing the key again confirms the accept of a protected file", async ({ page, workspace }) => {
  await page.clickRow(VIEW, "tasks.json");
  await page.diffLines("modified", { wanted: (lines) => lines.some((line) => line.includes("2.0.0")) });
  await page.press("Alt+Y");
  await page.toast(`Accept “${TASKS}”?`);
  await page.until("the protected file", async () => {
    await page.press("Alt+Y");
    return there(workspace, TASKS);
  });
  await page.rows(VIEW, (rows) => rows.length === 0);
});

editorTest("Always Allow shows each rule, and what it allows, before it is saved", async ({ page }) => {
  await page.runCommand("Agent: Follow Up");
  await page.fillInput("Log it");
  await page.toastButton("Run “echo one > log && date”", "More...");
  await page.pressDialog("Always Allow...");
  const first = await page.quickInput("Agent: Always Allow (1/2)");
  assert.equal(first.value, "echo one > log");
  await page.fillInput("cat *", { accept: false });
  await page.until("the problem", async () => /does not allow: echo one/.test((await page.quickInput()).message));
  await page.fillInput("echo * > log", { accept: false });
  await page.until("what it allows", async () =>
    /Runs without asking .*Still asks: /.test((await page.quickInput()).message),
  );
  await picture(page, "always-allow");
  await page.press("Enter");
  await page.fillInput("date", { title: "Agent: Always Allow (2/2)" });
  // the next line that the rule allows runs without a question, and the other one asks
  const asked = await page.toast("Run “uname -a”");
  assert.deepEqual(asked.buttons, ["Allow Once", "Reject", "More..."]);
});

editorTest("Reject Because tells the agent why", async ({ page }) => {
  await page.toastButton("Run “uname -a”", "More...");
  await page.pressDialog("Reject Because...");
  await page.fillInput("Read /etc/os-release instead", { title: "Agent: Reject Because..." });
  await page.toast("Understood.");
  await page.runCommand("Agent: Show Conversation");
  await page.webview().locator(".tool", { hasText: "Read /etc/os-release instead" }).first().waitFor();
});
