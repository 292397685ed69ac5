// The changes of several sessions are checked, accepted together and undone as one decision.

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
    { calls: [steps("false"), edit("more.txt", "one", "two")] },
    { text: "Another check." },
  ],
  { settings: { "fairlead.check.beforeAcceptAll": true }, workspace: { "word.txt": "day\n", "more.txt": "one\n" } },
);
const has =
  (...wanted) =>
  (rows) =>
    wanted.every((each) => rows.some(({ label }) => label === each));
const disk = (workspace) => ["word.txt", "more.txt"].map((name) => fs.readFileSync(path.join(workspace, name), "utf8"));
let sandboxed = true; // without a sandbox, no check runs

editorTest("a cancel after the check of one session accepts nothing at all", async ({ page, workspace }, context) => {
  await page.showContainer("Fairlead");
  await runTask(page, "First task");
  const rows = await page.rows("Plan", (all) =>
    all.some(({ label }) => label.startsWith("Allow") || label === COMMAND),
  );
  sandboxed = !rows.some(({ label }) => label.startsWith("Allow"));
  if (!sandboxed) return context.skip("there is no sandbox on this machine");
  await page.toast("Changed.");
  await followUp(page, "Use another check");
  await page.toast("Another check.");
  await runTask(page, "Second task");
  await page.rows(CHANGES, has("First task", "Second task"));
  await page.toast("“Second task”: Changed.");
  // the check of the session that is shown passes, that of the other one fails
  for (let time = 0; time < 2; time++) {
    await page.runCommand("Agent: Accept All");
    assert.equal((await page.dialog()).message, "Accept all changes?");
    await page.pressDialog("Cancel");
  }
  await page.rows(CHANGES, has("First task", "Second task"));
  assert.deepEqual(disk(workspace), ["day\n", "one\n"]);
});

editorTest(
  "the changes of both sessions, among them equal ones, are accepted together and undone as one decision",
  async (editor, context) => {
    if (!sandboxed) return context.skip();
    const { page, workspace } = editor;
    await page.runCommand("Agent: Accept All");
    await page.dialog();
    await page.pressDialog("Accept Anyway");
    await page.until("the accepted texts", () => disk(workspace).join("") === "night\ntwo\n");
    await page.rows(CHANGES, (rows) => rows.length === 0);
    assert.ok((await page.toasts()).every(({ message }) => !message.includes("The proposal changed")));
    await page.runCommand("Agent: Undo Review");
    await page.rows(CHANGES, has("First task", "Second task"));
    await page.until("the texts before", () => disk(workspace).join("") === "day\none\n");
  },
);
