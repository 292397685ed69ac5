// A run that has used up a budget pauses, names the budget, and continues when the user wants. The status bar shows the
// used tokens.

import assert from "node:assert/strict";
import { picture, plan, runTask, useAgent } from "./agent.mjs";

const turns = [
  { calls: [plan(["Count", "in_progress", "Counting"])], usage: { input: 34_000 } },
  { calls: [plan(["Count", "completed"])], usage: { input: 1000 } },
  { text: "Counted." },
];
const paused = (rows) => rows[0]?.label === "Continue";
const editorTest = useAgent(turns, {
  settings: { "fairlead.budget.tokens": 30_000 },
  workspace: { "a.txt": "a\n" },
  own: true,
});
const status = (page) => page.statusItem("fairlead.status");

editorTest("a run at the end of its budget pauses, says so, and shows what it used", async ({ page }) => {
  await runTask(page, "Count");
  const message = await page.toast("the budget is 30,000 (setting budget.tokens)");
  assert.deepEqual(message.buttons, ["Cancel", "Continue"]);
  await page.until("the tokens in the status bar", async () =>
    (await status(page)).text.includes("Agent paused 0/1 · 34k"),
  );
  await picture(page, "budget");
});

editorTest("the pause has a row that outlives its message, and its Continue starts a new budget", async ({ page }) => {
  await page.toastButton("the budget is 30,000", "Cancel");
  await page.until("no message", async () => (await page.toasts()).length === 0);
  await page.showContainer("Fairlead");
  const [row] = await page.rows("Plan", paused);
  assert.match(row.description, /the budget is 30,000 \(setting budget\.tokens\)/);
  await page.rowAction("Plan", "Continue", "Continue Run");
  await page.until("the end of the run", async () => (await status(page)).text.includes("Agent 1/1 · 1k"));
  await page.rows("Plan", (rows) => rows.length > 0 && !paused(rows));
});
