// Changes that VS Code would apply but not save: the accept is refused with the reason, and they stay proposed.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { edit, runTask, useAgent } from "./agent.mjs";

const VIEW = "Proposed Changes";
const BEFORE = "one\ntwo\n";
const NAMES = ["fixed.txt", "locked.txt", "free.txt", "arrow.ini", "umlaut.ini"];

const editorTest = useAgent(
  [
    { calls: [edit("fixed.txt", "two", "TWO"), edit("free.txt", "two", "TWO")] },
    { calls: [edit("locked.txt", "two", "TWO")] },
    { calls: [edit("arrow.ini", "two", "two → “2”"), edit("umlaut.ini", "two", "zwölf “2”")] },
    { text: "Proposed." },
  ],
  {
    workspace: {
      ...Object.fromEntries(NAMES.map((name) => [name, BEFORE])),
      ".vscode/settings.json": JSON.stringify({
        "files.readonlyInclude": { "fixed.txt": true },
        "[ini]": { "files.encoding": "windows1252" },
      }),
    },
    viewport: { width: 1280, height: 1100 },
    own: true,
  },
);
const read = (workspace, name) => fs.readFileSync(path.join(workspace, name), "utf8");
const lists = (name) => (rows) => rows.some(({ label }) => label === name);

editorTest(
  "a file that is read-only in VS Code is not changed on accept, and a message says why",
  async ({ page, workspace }) => {
    const refused = "fixed.txt is read-only in VS Code";
    await runTask(page, "Change the files");
    await page.toast("Proposed.");
    for (const state of ["closed", "open"]) {
      if (state === "open") await page.openFile("fixed.txt");
      await page.rowAction(VIEW, "fixed.txt", "Accept");
      await page.toast(refused);
      await page.closeToast(refused);
      await page.rows(VIEW, lists("fixed.txt"));
      assert.equal(read(workspace, "fixed.txt"), BEFORE, state);
    }
    await page.editorLines((lines) => lines.filter(Boolean).join("|") === "one|two"); // without the space for the change
    await page.runCommand("File: Set Active Editor Writeable in Session");
    await page.rowAction(VIEW, "fixed.txt", "Accept");
    await page.until("the edit on disk", () => read(workspace, "fixed.txt") === "one\nTWO\n");
  },
);

editorTest(
  "a file without write permission stays proposed and clean, and a message and its row say why",
  async ({ page, workspace }) => {
    const file = path.join(workspace, "locked.txt");
    fs.chmodSync(file, 0o444);
    await page.openFile("locked.txt");
    await page.rowAction(VIEW, "locked.txt", "Accept");
    await page.toast("locked.txt: This file is read-only. Make it writable, then try again.");
    await page.rows(VIEW, (rows) =>
      rows.some(({ label, description }) => label === "locked.txt" && description.startsWith("not accepted · ")),
    );
    assert.ok((await page.tabs()).every(({ dirty }) => !dirty));
    fs.chmodSync(file, 0o644);
    await page.rowAction(VIEW, "locked.txt", "Accept");
    await page.until("the edit on disk", () => read(workspace, "locked.txt") === "one\nTWO\n");
  },
);

editorTest(
  "a character that the file's encoding cannot represent is not saved as `?`, and the other files are accepted",
  async ({ page, workspace }) => {
    await page.runCommand("Agent: Accept All");
    await page.toast("not: arrow.ini has the encoding windows1252, which cannot represent →");
    const rows = await page.rows(VIEW, (all) => !lists("umlaut.ini")(all) && !lists("free.txt")(all));
    assert.ok(lists("arrow.ini")(rows));
    assert.equal(read(workspace, "arrow.ini"), BEFORE);
    assert.equal(read(workspace, "free.txt"), "one\nTWO\n");
    const umlaut = fs.readFileSync(path.join(workspace, "umlaut.ini"), "latin1");
    assert.equal(umlaut, "one\nzw\xf6lf \x932\x94\n");
  },
);
