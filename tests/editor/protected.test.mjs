// The agent reads a secret only with the user's approval, and a protected file is accepted only with a separate confirmation.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { runTask, useAgent, write } from "./agent.mjs";

const [VIEW, PLAN] = ["Proposed Changes", "Plan"];
const TASKS = ".vscode/tasks.json";
const editorTest = useAgent(
  [
    {
      calls: [{ read_file: { path: ".env" } }, write(TASKS, '{ "version": "2.0.0" }\n'), write("plain.txt", "plain\n")],
    },
    { text: "Proposed." },
  ],
  { workspace: { ".env": "TOKEN=1\n", "a.txt": "a\n" } },
);
const there = (workspace, name) => fs.existsSync(path.join(workspace, name));
const has = (label) => (rows) => rows.some((row) => row.label === label);

editorTest("the agent reads a secret only after the user allows it", async ({ page }) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Set it up");
  const asked = await page.toast("Allow “.env”? The agent wants to read this file, which looks like a secret.");
  assert.deepEqual(asked.buttons, ["Cancel", "Allow Once", "Allow for This Session", "Reject"]);
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
    assert.deepEqual(asked.buttons, ["Cancel", "Accept This File", "Leave Pending"]);
    await page.rows(PLAN, has(`Confirm: ${TASKS}`));
    await page.until("the ordinary file", () => there(workspace, "plain.txt"));
    // the accepted file disappears from the diff of all files while the question is open
    await page.until("the other file", async () => (await page.diffFiles()).join() === "tasks.json");
    await page.toastButton(`Accept “${TASKS}”?`, "Leave Pending");
    await page.toast("you did not confirm it. It is still proposed.");
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
