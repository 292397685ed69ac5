// The user's unsaved text is never overwritten. An accepted change is saved only if its file had no unsaved changes.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { edit, relayed, remove, rename, runTask, useAgent, write } from "./agent.mjs";

const NOTEBOOK = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}';
const NOTEBOOKS = ["book.ipynb", "gone.ipynb", "old.ipynb"];
const NUMBERS = "one\ntwo\nthree\nfour\nfive\nsix\n";
const { extension, writeBeforeEdit } = relayed();

const editorTest = useAgent(
  [
    { calls: [edit("dirty.txt", "two", "TWO"), edit("clean.txt", "one", "ONE"), edit("crlf.txt", "b", "B")] },
    { calls: ["back.txt", "gone.txt"].flatMap((name) => [edit(name, "two", "TWO"), edit(name, "five", "FIVE")]) },
    { calls: [write("book.ipynb", "{}"), remove("gone.ipynb"), rename("old.ipynb", "new.ipynb")] },
    { calls: [edit("pulled.txt", "five", "FIVE"), edit("same.txt", "five", "FIVE"), remove("kept.txt")] },
    { text: "Proposed." },
  ],
  {
    workspace: {
      "dirty.txt": "one\ntwo\n",
      "clean.txt": "one\n",
      "crlf.txt": "\ufeffa\r\nb\r\nc",
      "back.txt": NUMBERS,
      "gone.txt": NUMBERS,
      "pulled.txt": NUMBERS,
      "same.txt": NUMBERS,
      "kept.txt": NUMBERS,
      ...Object.fromEntries(NOTEBOOKS.map((name) => [name, NOTEBOOK])),
    },
    settings: { "files.autoGuessEncoding": true }, // so that VS Code, not the server, writes closed files too
    viewport: { width: 1280, height: 1100 },
    extensions: [extension],
    own: true,
  },
);
const read = (workspace, name) => fs.readFileSync(path.join(workspace, name), "utf8");

editorTest("a dirty buffer keeps the typed text, gets the edit, and stays unsaved", async ({ page, workspace }) => {
  await page.openFile("dirty.txt");
  await page.typeText("typed\n", { at: "start" });
  await runTask(page, "Change the files");
  await page.toast("Proposed.");
  await page.rows("Proposed Changes", (rows) => rows.length >= 10);
  await page.rowAction("Proposed Changes", "dirty.txt", "Accept");
  await page.openFile("dirty.txt");
  await page.editorLines((lines) => lines.join("|") === "typed|one|TWO|");
  await page.tab("dirty.txt", (tab) => tab.dirty);
  assert.equal(read(workspace, "dirty.txt"), "one\ntwo\n");
});

editorTest(
  "typing where a change is proposed shows a conflict, and the user can keep the typed text",
  async ({ page, workspace }) => {
    await page.openFile("clean.txt");
    await page.typeText("mine ", { at: "start" });
    await page.rows("Proposed Changes", (rows) =>
      rows.some((row) => row.label === "clean.txt" && row.icon === "warning"),
    );
    await page.rowAction("Proposed Changes", "clean.txt", "Keep Mine");
    await page.rows("Proposed Changes", (rows) => rows.every((row) => row.label !== "clean.txt"));
    await page.editorLines((lines) => lines.join("|") === "mine one|");
    assert.equal(read(workspace, "clean.txt"), "one\n");
  },
);

editorTest(
  "a file that the user deleted is restored with the changes, or stays deleted",
  async ({ page, workspace }) => {
    for (const name of ["back.txt", "gone.txt"]) fs.rmSync(path.join(workspace, name));
    const isDeleted = ({ description }) => description.startsWith("you deleted it");
    const rows = await page.rows("Proposed Changes", (all) => all.filter(isDeleted).length === 2);
    assert.deepEqual(
      rows.filter(isDeleted).map(({ label }) => label),
      ["back.txt", "gone.txt"],
    );
    assert.ok(!rows[rows.findIndex(isDeleted) + 1].label.startsWith("Line"), "its hunks have no rows");
    assert.deepEqual(await page.rowActions("Proposed Changes", "gone.txt"), [
      "Restore File with Changes",
      "Keep Deleted",
    ]);
    await page.rowAction("Proposed Changes", "gone.txt", "Keep Deleted");
    await page.rowAction("Proposed Changes", "back.txt", "Restore File with Changes");
    await page.rows("Proposed Changes", (all) => !all.some(isDeleted));
    assert.equal(read(workspace, "back.txt"), NUMBERS.replace("two", "TWO").replace("five", "FIVE"));
    assert.ok(!fs.existsSync(path.join(workspace, "gone.txt")));
  },
);

editorTest("line endings and the byte order mark of a closed file stay", async ({ page, workspace }) => {
  await page.rowAction("Proposed Changes", "crlf.txt", "Accept");
  await page.until("the edit on disk", () => read(workspace, "crlf.txt") === "\ufeffa\r\nB\r\nc");
});

editorTest(
  "a notebook that is open as a notebook is not edited, deleted or renamed, and a message says why",
  async ({ page, workspace }) => {
    for (const name of NOTEBOOKS) {
      await page.openFile(name);
      await page.rowAction("Proposed Changes", name, "Accept");
      await page.toast(`${name} is open as a notebook`);
      assert.equal(read(workspace, name), NOTEBOOK);
    }
  },
);

editorTest(
  "docs/faults.md 67: text that another program writes just before VS Code applies an accept is merged or a conflict",
  async ({ page, workspace }) => {
    const merged = () => read(workspace, "pulled.txt") === written["pulled.txt"].replace("five", "FIVE");
    const conflicts = (name) => (rows) => rows.some((row) => row.label === name && row.icon === "warning");
    const written = {
      "pulled.txt": `pulled\n${NUMBERS}`,
      "same.txt": NUMBERS.replace("five", "pulled"),
      "kept.txt": `${NUMBERS}pulled\n`,
    };
    for (const [name, text] of Object.entries(written)) {
      writeBeforeEdit({ [path.join(workspace, name)]: text });
      await page.rowAction("Proposed Changes", name, "Accept");
      if (name === "pulled.txt") await page.until("the edit on disk", merged);
      else await page.rows("Proposed Changes", conflicts(name));
    }
    assert.equal(read(workspace, "same.txt"), written["same.txt"]);
    assert.equal(read(workspace, "kept.txt"), written["kept.txt"]);
  },
);
