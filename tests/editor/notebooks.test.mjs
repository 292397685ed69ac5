// Proposed changes to files that VS Code does not open in the text editor: notebooks, and those with an editor that the
// user chose.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { edit, remove, rename, runTask, useAgent } from "./agent.mjs";

const VIEW = "Proposed Changes";
const cell = (source) => ({ cell_type: "markdown", metadata: {}, source: [source] });
const notebook = (...sources) =>
  `${JSON.stringify({ cells: sources.map(cell), metadata: {}, nbformat: 4, nbformat_minor: 5 }, undefined, 1)}\n`;
const CHART = ["first", "second", "third"];
const MANY = Array.from({ length: 11 }, (_, number) => `closed${number}.txt`);
const OPEN = ["gone.ipynb", "old.ipynb", "open.ipynb"];
const lineOf = (source) =>
  notebook(...CHART)
    .split("\n")
    .findIndex((line) => line.includes(source)) + 1;

const editorTest = useAgent(
  [
    {
      calls: [
        edit("chart.ipynb", "first", "FIRST"),
        edit("chart.ipynb", "third", "THIRD"),
        edit("notes.md", "old", "new"),
        edit("open.ipynb", "first", "FIRST"),
        remove("gone.ipynb"),
        rename("old.ipynb", "new.ipynb"),
        ...MANY.map((name) => edit(name, "old", "new")),
      ],
    },
    { text: "Proposed." },
  ],
  {
    workspace: {
      "chart.ipynb": notebook(...CHART),
      "notes.md": "# old\n",
      ...Object.fromEntries(OPEN.map((name) => [name, notebook(...CHART)])),
      ...Object.fromEntries(MANY.map((name) => [name, "old\n"])),
    },
    settings: { "workbench.editorAssociations": { "*.md": "vscode.markdown.preview.editor" } },
  },
);
const isSaved = (workspace, text, name = "chart.ipynb") => fs.readFileSync(path.join(workspace, name), "utf8") === text;
const shows = (text) => (lines) => lines.some((line) => line.includes(text));
const atLine = (page, number) =>
  page.statusItem("status.editor.selection", ({ text }) => text.includes(`Ln ${number},`));

editorTest("the diff of a notebook shows its text, and the keys go from change to change", async ({ page }) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Change the notebooks");
  await page.toast("Proposed.");
  // the list is long only once it has all files: until then, its files are expanded
  await page.rows(VIEW, (rows) => rows.some(({ label, expanded }) => label === "chart.ipynb" && expanded === false));
  await page.toggleRow(VIEW, "chart.ipynb");
  await page.clickRow(VIEW, `Line ${lineOf("first")}`);
  await page.tab("chart.ipynb (proposed)");
  await page.diffLines("modified", { wanted: shows("FIRST") });
  await page.editorFocus();
  await atLine(page, lineOf("first"));
  await page.press("Alt+j");
  await atLine(page, lineOf("third"));
  await page.press("Alt+j");
  await page.tab("notes.md (proposed)");
  await page.diffLines("modified", { wanted: shows("# new") });
  await atLine(page, 1);
  await page.press("Alt+k");
  await page.tab("chart.ipynb (proposed)");
  await atLine(page, lineOf("third"));
});

editorTest("keys and buttons decide in the diff of a notebook, which then closes", async ({ page, workspace }) => {
  await page.press("Alt+y");
  await page.until("the accepted change", () => isSaved(workspace, notebook("first", "second", "THIRD")));
  await page.rows(VIEW, (rows) => rows.every(({ label }) => label !== `Line ${lineOf("third")}`));
  await page.tab("notes.md (proposed)");
  await atLine(page, 1);
  await page.press("Alt+k");
  await page.tab("chart.ipynb (proposed)");
  await page.titleAction("Accept This File");
  await page.until("the accepted file", () => isSaved(workspace, notebook("FIRST", "second", "THIRD")));
  await page.tab("notes.md (proposed)");
  await page.until("the diff of the notebook to close", async () =>
    (await page.tabs()).every(({ label }) => !label.startsWith("chart.ipynb")),
  );
});

editorTest("outside of the diffs, the files do not open as text", async ({ page }) => {
  await page.openFile("chart.ipynb");
  await page.press("F1");
  await page.page.locator(".quick-input-widget .quick-input-filter input").fill("notes.md");
  await page.page.locator(".quick-input-list .monaco-list-row", { hasText: "notes.md" }).first().click();
  await page.webview().getByRole("heading", { name: "old" }).waitFor();
});

editorTest(
  "fault 146: a file that is open as a notebook stays proposed, and the server writes the closed files",
  async ({ page, workspace }) => {
    for (const name of OPEN.slice(0, 2)) {
      await page.openFile(name);
      await page.rowAction(VIEW, name, "Accept");
      await page.toast(`${name} is open as a notebook`);
    }
    await page.openFile("open.ipynb");
    await page.runCommand("Agent: Accept All");
    await page.toast("open.ipynb is open as a notebook");
    await page.until("the closed files", () => MANY.every((name) => isSaved(workspace, "new\n", name)));
    await page.rows(VIEW, (rows) => OPEN.every((name) => rows.some(({ label }) => label === name)));
    assert.ok(OPEN.every((name) => isSaved(workspace, notebook(...CHART), name)));
    assert.ok((await page.tabs()).every(({ label }) => !MANY.includes(label)));
  },
);
