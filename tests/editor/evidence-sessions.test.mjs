// Checks before the changes of several sessions are accepted together.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { edit, followUp, plan, runTask, useAgent } from "./agent.mjs";

const CHANGES = "Proposed Changes";
const steps = (check) => plan(["Change the word", "in_progress", "", check]);

// each session plays the script from its beginning
const editorTest = useAgent(
  [
    { calls: [steps("true"), edit("word.txt", "day", "night")] },
    { text: "Changed." },
    { calls: [steps("false")] },
    { text: "Another check." },
  ],
  { settings: { "fairlead.check.beforeAcceptAll": true }, workspace: { "word.txt": "day\n" } },
);
const labels = (rows) => rows.map(({ label }) => label);

editorTest("a cancel after the check of one session accepts nothing of the others", async ({ page, workspace }) => {
  await page.showContainer("Fairlead");
  await runTask(page, "First task");
  await page.toast("Changed.");
  await runTask(page, "Second task");
  await page.rows(CHANGES, (rows) => labels(rows).includes("Second task"));
  await followUp(page, "Use another check");
  await page.toast("Another check.");
  for (let time = 0; time < 2; time++) {
    await page.runCommand("Agent: Accept All");
    assert.equal((await page.dialog()).message, "Accept all changes?");
    await page.pressDialog("Cancel");
  }
  await page.rows(CHANGES, (rows) => labels(rows).includes("First task") && labels(rows).includes("Second task"));
  assert.equal(fs.readFileSync(path.join(workspace, "word.txt"), "utf8"), "day\n");
});
