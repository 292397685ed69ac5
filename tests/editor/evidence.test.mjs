// A completed step proves something, in a real VS Code: verified by a command, until one of the files changes.

import assert from "node:assert/strict";
import { bash, edit, picture, plan, runTask, useAgent } from "./agent.mjs";

const PLAN = "Plan";
const TEST = `from pathlib import Path

assert Path("greeting.txt").read_text() == "Good morning\\n"
print("1 passed")
`;
const RUN = "python3 test_greeting.py | tail -5";
const editorTest = useAgent(
  [
    { calls: [plan(["Read the test", "in_progress"], ["Change the greeting"], ["Tidy up"])] },
    { calls: [{ read_file: { path: "test_greeting.py" } }] },
    { calls: [plan(["Read the test", "completed"], ["Change the greeting", "in_progress"], ["Tidy up"]), bash(RUN)] },
    { calls: [edit("greeting.txt", "Good day", "Good morning"), bash(RUN)] },
    { calls: [plan(["Read the test", "completed"], ["Change the greeting", "completed"], ["Tidy up", "completed"])] },
    { text: "The greeting is changed." },
  ],
  { workspace: { "greeting.txt": "Good day\n", "notes.txt": "Mine\n", "test_greeting.py": TEST } },
);
const find = (rows, label) => rows.find((row) => row.label === label);
const described = (label, description) => (rows) => find(rows, label)?.description === description;
let sandboxed = true; // without a sandbox, the command does not see the edit

editorTest("a tick says what supports it", async ({ page }, context) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Change the greeting");
  const first = await page.rows(PLAN, (all) =>
    all.some(({ label, description }) => label.startsWith("Allow") || description === "verified"),
  );
  sandboxed = !first.some(({ label }) => label.startsWith("Allow"));
  if (!sandboxed) return context.skip("there is no sandbox on this machine");
  const rows = await page.rows(PLAN, described("Change the greeting", "verified"));
  assert.deepEqual(
    rows.filter(({ level }) => level === 1).map(({ label, description }) => `${label}: ${description}`),
    ["Read the test: only read", "Change the greeting: verified", "Tidy up: no evidence"],
  );
  assert.equal(find(rows, "Change the greeting").name, `Change the greeting, done, verified by ${RUN}`);
  await picture(page, "verified");
});

editorTest("accepting the changes leaves it verified", async ({ page }, context) => {
  if (!sandboxed) return context.skip();
  await page.runCommand("Agent: Accept All");
  await page.rows("Proposed Changes", (all) => all.length === 0);
  await page.rows(PLAN, described("Change the greeting", "verified"));
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
  await page.rows(PLAN, described("Change the greeting", "verified"));
});
