// The evidence of completed steps in a real VS Code: a task of four steps, one of which has a check. The check fails,
// passes, proves the step, and fails again after a partial accept.

import assert from "node:assert/strict";
import { bash, edit, picture, plan, runTask, useAgent } from "./agent.mjs";

const PLAN = "Plan";
const CHANGES = "Proposed Changes";
const TEST = `from pathlib import Path

assert Path("greeting.txt").read_text() == "Good morning\\n"
assert Path("farewell.txt").read_text() == "Good night\\n"
print("2 passed")
`;
const RUN = "python3 test_words.py | tail -5";
const steps = (read, change, note, tidy) =>
  plan(["Read the test", read], ["Change the words", change, "", RUN], ["Note the change", note], ["Tidy up", tidy]);
const [TODO, NOW, DONE] = ["pending", "in_progress", "completed"];
const editorTest = useAgent(
  [
    { calls: [steps(NOW, TODO, TODO, TODO)] },
    { calls: [{ read_file: { path: "test_words.py" } }] },
    { calls: [steps(DONE, NOW, TODO, TODO), edit("greeting.txt", "Good day", "Good morning")] },
    // the model completes the step too early: its check fails, and the step stays in progress
    { calls: [steps(DONE, DONE, NOW, TODO)] },
    { calls: [{ ask_user: { question: "Shall I go on?" } }] },
    { calls: [edit("farewell.txt", "Goodbye", "Good night")] },
    { calls: [steps(DONE, DONE, NOW, TODO), edit("notes.txt", "Mine", "Mine\n- The words changed.")] },
    { calls: [bash(RUN)] },
    { calls: [steps(DONE, DONE, DONE, DONE)] },
    { text: "The words are changed." },
  ],
  {
    settings: { "fairlead.check.beforeAcceptAll": true },
    workspace: {
      "greeting.txt": "Good day\n",
      "farewell.txt": "Goodbye\n",
      "notes.txt": "Mine\n",
      "test_words.py": TEST,
      "package.json": '{ "scripts": { "test": "python3 test_words.py" } }\n',
    },
  },
);
const find = (rows, label) => rows.find((row) => row.label === label);
const described = (label, description) => (rows) => find(rows, label)?.description === description;
let sandboxed = true; // without a sandbox, the command does not see the edit

editorTest("a step is not completed while its check fails", async ({ page }, context) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Change the words");
  const rows = await page.rows(PLAN, (all) => all.some(({ label }) => /^(Allow|Answer)/.test(label)));
  sandboxed = !rows.some(({ label }) => label.startsWith("Allow"));
  if (!sandboxed) return context.skip("there is no sandbox on this machine");
  assert.equal(find(rows, "Change the words").name, "Change the words, waiting for you");
  assert.equal(find(rows, RUN).name, `${RUN}, failed with exit code 1`);
  assert.equal(find(rows, "Tidy up").name, "Tidy up, to do");
  await picture(page, "refused");
});

editorTest("the user chooses, writes and removes the check of a step", async ({ page }, context) => {
  if (!sandboxed) return context.skip();
  const title = "Agent: Set Check";
  await page.rowMenu(PLAN, "Tidy up", "Set Check...");
  const { items } = await page.quickInput(title);
  assert.deepEqual(items, [
    { label: "npm test", description: "suggested by package.json" },
    { label: "python3 -m unittest", description: "suggested by test_words.py" },
  ]);
  await page.pick("npm test", { title });
  await page.rows(PLAN, described("Tidy up", "check: npm test"));
  await page.rowMenu(PLAN, "Tidy up", "Set Check...");
  await page.fillInput("true", { title });
  await page.rows(PLAN, described("Tidy up", "check: true"));
  await page.rowMenu(PLAN, "Tidy up", "Set Check...");
  await page.pick("No Check", { title });
  await page.rows(PLAN, described("Tidy up", ""));
});

editorTest("a completed step shows its evidence", async ({ page }, context) => {
  if (!sandboxed) return context.skip();
  await page.rowAction(PLAN, "Answer: Shall I go on?", "Answer");
  await page.fillInput("Yes", { title: "Agent: Answer" });
  const rows = await page.rows(PLAN, described("Note the change", "verified"));
  assert.deepEqual(
    rows.filter(({ level }) => level === 1).map(({ label, description }) => `${label}: ${description}`),
    ["Read the test: only read", "Change the words: proved", "Note the change: verified", "Tidy up: no evidence"],
  );
});

editorTest("a check without the change proves the step", async ({ page }, context) => {
  if (!sandboxed) return context.skip();
  await page.rowMenu(PLAN, "Change the words", "Check Without the Change");
  const { message, severity } = await page.toast(`Without the changes: ${RUN} fails`);
  assert.match(message, /With them it passes, so it proves them\.$/);
  assert.equal(severity, "info");
  await page.toastButton("Without the changes", "Show Output");
  const terminal = page.page.locator(".terminal-wrapper:visible .xterm-rows").last();
  await page.until("the output of the check", async () => (await terminal.innerText()).includes("AssertionError"));
  const rows = await page.rows(PLAN, described("Change the words", "proved"));
  assert.equal(
    find(rows, "Change the words").name,
    `Change the words, done, proved by ${RUN}, which fails without the change`,
  );
  await picture(page, "proved");
});

editorTest("a partial accept that breaks the check is reported", async ({ page }, context) => {
  if (!sandboxed) return context.skip();
  await page.rowAction(CHANGES, "greeting.txt", "Accept");
  await page.rows(CHANGES, (all) => !find(all, "greeting.txt"));
  await page.runCommand("Agent: Check What I Accepted");
  await page.toast(`1 of 3 changes accepted: ${RUN} fails without farewell.txt and notes.txt.`);
  const broken = "Fails without farewell.txt and notes.txt.";
  const [first] = await page.rows(CHANGES, (all) => find(all, broken));
  assert.deepEqual([first.label, first.description, first.icon], [broken, `1 of 3 accepted · ${RUN}`, "error"]);
  await picture(page, "accepted-in-part");
});

editorTest("Accept All runs the checks first, and the user decides if one fails", async ({ page }, context) => {
  if (!sandboxed) return context.skip();
  await page.rowAction(CHANGES, "farewell.txt", "Reject");
  await page.rows(CHANGES, (all) => !find(all, "farewell.txt"));
  await page.runCommand("Agent: Accept All");
  const { message, detail, buttons } = await page.dialog();
  assert.equal(message, "Accept all changes?");
  assert.match(detail, /test_words\.py \| tail -5 fails \(exit code 1, .*\)\.\s+Your files have not changed yet\./);
  assert.deepEqual(buttons.toSorted(), ["Accept Anyway", "Cancel"]);
  await page.pressDialog("Cancel");
  await page.rows(CHANGES, (all) => find(all, "notes.txt"));
  await page.runCommand("Agent: Undo Review");
  await page.rows(CHANGES, (all) => find(all, "farewell.txt"));
});
