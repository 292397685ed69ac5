// Checks before the changes of several sessions are accepted together.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { bash, edit, followUp, plan, runTask, useAgent } from "./agent.mjs";

const CHANGES = "Proposed Changes";
const COMMAND = "cat word.txt";
const steps = (check) => plan(["Change the word", "in_progress", "", check]);

// each session plays the script from its beginning
const editorTest = useAgent(
  [
    { calls: [steps("true"), bash(COMMAND), edit("word.txt", "day", "night")] },
    { text: "Changed." },
    { calls: [steps("false")] },
    { text: "Another check." },
  ],
  { settings: { "fairlead.check.beforeAcceptAll": true }, workspace: { "word.txt": "day\n" } },
);
const has =
  (...wanted) =>
  (rows) =>
    wanted.every((each) => rows.some(({ label }) => label === each));

editorTest("a cancel after the check of one session accepts nothing at all", async ({ page, workspace }, context) => {
  await page.showContainer("Fairlead");
  await runTask(page, "First task");
  const rows = await page.rows("Plan", (all) =>
    all.some(({ label }) => label.startsWith("Allow") || label === COMMAND),
  );
  if (rows.some(({ label }) => label.startsWith("Allow"))) return context.skip("there is no sandbox on this machine");
  await page.toast("Changed.");
  await runTask(page, "Second task");
  await page.rows(CHANGES, has("First task", "Second task"));
  await page.toast("“Second task”: Changed.");
  await followUp(page, "Use another check");
  await page.toast("Another check.");
  // the check of the second session fails, that of the first would pass
  for (let time = 0; time < 2; time++) {
    await page.runCommand("Agent: Accept All");
    assert.equal((await page.dialog()).message, "Accept all changes?");
    await page.pressDialog("Cancel");
  }
  await page.rows(CHANGES, has("First task", "Second task"));
  assert.equal(fs.readFileSync(path.join(workspace, "word.txt"), "utf8"), "day\n");
});
