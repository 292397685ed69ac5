// A completed step proves something, in a real VS Code: verified by a command, until one of the files changes.

import assert from "node:assert/strict";
import { edit, picture, plan, runTask, useAgent } from "./agent.mjs";

const PLAN = "Plan";
const TEST = `from pathlib import Path

assert Path("greeting.txt").read_text() == "Good morning\\n"
print("1 passed")
`;
const RUN = "python3 test_greeting.py | tail -5";
const editorTest = useAgent(
  [
    { calls: [plan(["Read the test", "in_progress"], ["Change the greeting", "pending", "", RUN], ["Tidy up"])] },
    { calls: [{ read_file: { path: "test_greeting.py" } }] },
    // too early: the check fails, and the step stays in progress
    { calls: [plan(["Read the test", "completed"], ["Change the greeting", "completed"], ["Tidy up", "in_progress"])] },
    { calls: [{ ask_user: { question: "Shall I go on?" } }] },
    { calls: [edit("greeting.txt", "Good day", "Good morning")] },
    { calls: [plan(["Read the test", "completed"], ["Change the greeting", "completed"], ["Tidy up", "completed"])] },
    { text: "The greeting is changed." },
  ],
  { workspace: { "greeting.txt": "Good day\n", "notes.txt": "Mine\n", "test_greeting.py": TEST } },
);
const find = (rows, label) => rows.find((row) => row.label === label);
const described = (label, description) => (rows) => find(rows, label)?.description === description;
let sandboxed = true; // without a sandbox, the command does not see the edit

editorTest("a step is not completed while its check fails", async ({ page }, context) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Change the greeting");
  const rows = await page.rows(PLAN, (all) => all.some(({ label }) => /^(Allow|Answer)/.test(label)));
  sandboxed = !rows.some(({ label }) => label.startsWith("Allow"));
  if (!sandboxed) return context.skip("there is no sandbox on this machine");
  assert.equal(find(rows, "Change the greeting").name, "Change the greeting, waiting for you");
  assert.equal(find(rows, RUN).name, `${RUN}, failed with exit code 1`);
  assert.equal(find(rows, "Tidy up").name, "Tidy up, to do");
  await picture(page, "refused");
});

editorTest("the user sets and removes the check of a step", async ({ page }, context) => {
  if (!sandboxed) return context.skip();
  await page.rowMenu(PLAN, "Tidy up", "Set Check...");
  await page.fillInput("true", { title: "Agent: Set Check" });
  await page.rows(PLAN, described("Tidy up", "check: true"));
  await page.rowMenu(PLAN, "Tidy up", "Set Check...");
  await page.fillInput("", { title: "Agent: Set Check" });
  await page.rows(PLAN, described("Tidy up", ""));
});

editorTest("a tick says what supports it", async ({ page }, context) => {
  if (!sandboxed) return context.skip();
  await page.rowAction(PLAN, "Answer: Shall I go on?", "Answer");
  await page.fillInput("Yes", { title: "Agent: Answer" });
  const rows = await page.rows(PLAN, described("Change the greeting", "proved"));
  assert.deepEqual(
    rows.filter(({ level }) => level === 1).map(({ label, description }) => `${label}: ${description}`),
    ["Read the test: only read", "Change the greeting: proved", "Tidy up: no evidence"],
  );
  assert.equal(
    find(rows, "Change the greeting").name,
    `Change the greeting, done, proved by ${RUN}, which fails without the change`,
  );
  await picture(page, "proved");
});

editorTest("accepting the changes leaves it proved", async ({ page }, context) => {
  if (!sandboxed) return context.skip();
  await page.runCommand("Agent: Accept All");
  await page.rows("Proposed Changes", (all) => all.length === 0);
  await page.rows(PLAN, described("Change the greeting", "proved"));
});

editorTest("typing in a file makes it stale, and undoing that makes it hold again", async ({ page }, context) => {
  if (!sandboxed) return context.skip();
  await page.openFile("notes.txt");
  await page.typeText("More", { at: "start" });
  const rows = await page.rows(PLAN, described("Change the greeting", "1 file changed since"));
  assert.equal(find(rows, "Change the greeting").icon, "warning");
  assert.match(find(rows, "Change the greeting").name, /done, 1 file changed since it was verified by python3/);
  await picture(page, "stale");
  await page.page.keyboard.press("Control+Z");
  await page.rows(PLAN, described("Change the greeting", "proved"));
});
