// The save after an accept.

import fs from "node:fs";
import path from "node:path";
import { edit, runTask, useAgent } from "./agent.mjs";

const VIEW = "Proposed Changes";

const editorTest = useAgent([{ calls: [edit("form.txt", "two", "TWO   ")] }, { text: "Proposed." }], {
  workspace: { "form.txt": "one\ntwo\n" },
  settings: { "files.trimTrailingWhitespace": true },
  own: true,
});
const read = (workspace, name) => fs.readFileSync(path.join(workspace, name), "utf8");

editorTest("an accept that VS Code saves in another form can be undone", async ({ page, workspace }) => {
  await runTask(page, "Change the files");
  await page.toast("Proposed.");
  await page.rowAction(VIEW, "form.txt", "Accept");
  await page.until("the edit on disk", () => read(workspace, "form.txt") === "one\nTWO\n");
  await page.rows(VIEW, (rows) => rows.every(({ label }) => label !== "form.txt"));
  await page.runCommand("Agent: Undo Review");
  await page.until("the text before the accept", () => read(workspace, "form.txt") === "one\ntwo\n");
  await page.rows(VIEW, (rows) => rows.some(({ label }) => label === "form.txt"));
});
