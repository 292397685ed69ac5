// Accepted text that VS Code alters when it saves the file, and proposals that replace all line endings of a file.

import fs from "node:fs";
import path from "node:path";
import { edit, runTask, useAgent, write } from "./agent.mjs";

const VIEW = "Proposed Changes";

const editorTest = useAgent(
  [
    { calls: [edit("form.txt", "two", "TWO   ")] },
    { calls: [write("open.bat", "one\r\ntwo\r\n"), write("both.bat", "ONE\r\ntwo\r\n")] },
    { calls: [write("closed.bat", "one\r\ntwo\r\n")] },
    { text: "Proposed." },
  ],
  {
    workspace: Object.fromEntries(
      ["form.txt", "open.bat", "both.bat", "closed.bat"].map((name) => [name, "one\ntwo\n"]),
    ),
    settings: { "files.trimTrailingWhitespace": true },
    own: true,
  },
);
const read = (workspace, name) => fs.readFileSync(path.join(workspace, name), "utf8");

editorTest("an accept can be undone even if VS Code changed the text when it saved", async ({ page, workspace }) => {
  await runTask(page, "Change the files");
  await page.toast("Proposed.");
  await page.openFile("form.txt"); // the server writes closed files, and does not change the text
  await page.rowAction(VIEW, "form.txt", "Accept");
  await page.until("the edit on disk", () => read(workspace, "form.txt") === "one\nTWO\n");
  await page.rows(VIEW, (rows) => rows.every(({ label }) => label !== "form.txt"));
  await page.runCommand("Agent: Undo Review");
  await page.until("the text before the accept", () => read(workspace, "form.txt") === "one\ntwo\n");
  await page.rows(VIEW, (rows) => rows.some(({ label }) => label === "form.txt"));
});

editorTest("all line endings change on accept and on undo, in open and closed files", async ({ page, workspace }) => {
  const before = "one\ntwo\n";
  const after = { "open.bat": "one\r\ntwo\r\n", "both.bat": "ONE\r\ntwo\r\n", "closed.bat": "one\r\ntwo\r\n" };
  for (const [name, text] of Object.entries(after)) {
    if (name !== "closed.bat") await page.openFile(name);
    await page.rowAction(VIEW, name, "Accept");
    await page.until(`${name} on disk`, () => read(workspace, name) === text);
    await page.rows(VIEW, (rows) => rows.every(({ label }) => label !== name));
    await page.runCommand("Agent: Undo Review");
    await page.until(`${name} as before`, () => read(workspace, name) === before);
    await page.rows(VIEW, (rows) => rows.some(({ label }) => label === name));
  }
});
