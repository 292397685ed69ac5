// The review says which changes no check has read, and lists them first if the user wants that (docs/plan.md, P21).

import assert from "node:assert/strict";
import { edit, picture, plan, runTask, useAgent } from "./agent.mjs";

const VIEW = "Proposed Changes";
const CHECK = "python3 -B test_cart.py";
const steps = (first, second) => plan(["Add the tax", first], ["Document it", second]);

const editorTest = useAgent(
  [
    { calls: [steps("in_progress", "pending"), edit("cart.py", "sum(prices)", "sum(prices) * 2")] },
    { calls: [steps("completed", "in_progress"), edit("docs/README.md", "The sum.", "The sum with tax.")] },
    { calls: [steps("completed", "completed")] },
    { text: "Proposed." },
  ],
  {
    settings: { "fairlead.checks": [CHECK], "fairlead.check.unreadFirst": true },
    workspace: {
      "cart.py": "def total(prices):\n    return sum(prices)\n",
      "docs/README.md": "The sum.\n",
      "test_cart.py": "from cart import total\n\nassert total([1, 2]) == 6\n",
    },
    viewport: { width: 1280, height: 900 },
  },
);

editorTest("a change that no check has read says so, and comes first", async ({ page }) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Add the tax");
  await page.toast("Proposed.");
  await page.closeToast("Proposed.");
  const isUnread = ({ description }) => description?.includes("no check read it");
  const rows = await page.rows(VIEW, (found) => found.some(isUnread));
  assert.ok(rows.findIndex(isUnread) < rows.findIndex(({ label }) => label === "cart.py"));
  assert.ok(rows.filter(isUnread).every(({ label }) => label !== "cart.py"));
  const found = await page.rows("Plan", (all) => all.some(({ description }) => description === "proved"));
  const second = found.find(({ label }) => label === "Document it");
  assert.equal(second.description, "unverified: not read");
  await picture(page, "reads");
});
