// Proposed changes to notebooks, which VS Code shows in its own kind of diff.

import fs from "node:fs";
import path from "node:path";
import { edit, runTask, useAgent } from "./agent.mjs";

const VIEW = "Proposed Changes";
const NOTEBOOK = '{"cells": [], "metadata": {"title": "old"}, "nbformat": 4, "nbformat_minor": 5}';

const editorTest = useAgent(
  [{ calls: ["one.ipynb", "two.ipynb"].map((name) => edit(name, "old", "new")) }, { text: "Proposed." }],
  { workspace: { "one.ipynb": NOTEBOOK, "two.ipynb": NOTEBOOK } },
);

editorTest("the diff of a notebook has buttons that decide, and closes after a decision", async (editor) => {
  const { page, workspace } = editor;
  const text = () => fs.readFileSync(path.join(workspace, "one.ipynb"), "utf8");
  const closed = (label) =>
    page.until(`the tab "${label}" to close`, async () => (await page.tabs()).every((tab) => tab.label !== label));
  await page.showContainer("Fairlead");
  await runTask(page, "Change the notebooks");
  await page.toast("Proposed.");
  await page.clickRow(VIEW, "one.ipynb");
  await page.tab("one.ipynb (proposed)");
  await page.until("the buttons", async () =>
    (await page.titleActions()).some((label) => label.startsWith("Accept This File")),
  );
  await page.titleAction("Accept This File");
  await page.until("the accepted notebook", () => text() === NOTEBOOK.replace("old", "new"));
  await page.tab("two.ipynb (proposed)");
  await closed("one.ipynb (proposed)");
  await page.rowAction(VIEW, "two.ipynb", "Reject");
  await closed("two.ipynb (proposed)");
});
