// A run that used up its budget: it pauses, says which, and goes on at the person's word. Tokens in the status bar.

import assert from "node:assert/strict";
import { picture, plan, runTask, useAgent } from "./agent.mjs";

const turns = [
  { calls: [plan(["Count", "in_progress", "Counting"])], usage: { input: 34_000 } },
  { calls: [plan(["Count", "completed"])], usage: { input: 1000 } },
  { text: "Counted." },
];
const editorTest = useAgent(turns, { settings: { "fairlead.budget.tokens": 30_000 }, workspace: { "a.txt": "a\n" } });
const status = (page) => page.statusItem("fairlead.status");

editorTest("a run at the end of its budget pauses, says so, and shows what it took", async ({ page }) => {
  await runTask(page, "Count");
  const told = await page.toast("the budget is 30,000 (setting budget.tokens)");
  assert.deepEqual(told.buttons, ["Go On", "Stop Here"]);
  await page.until("the tokens in the status bar", async () => (await status(page)).text.includes("Agent 0/1 · 34k"));
  await picture(page, "budget");
});

editorTest("go on: the same run goes on with a fresh budget", async ({ page }) => {
  await page.toastButton("the budget is 30,000", "Go On");
  await page.until("the end of the run", async () => (await status(page)).text.includes("Agent 1/1 · 1k"));
});
