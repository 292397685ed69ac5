// A change that weakens a test is called out in a group of its own, and Accept All leaves it (docs/plan.md, P22).

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { edit, picture, plan, runTask, useAgent } from "./agent.mjs";

const VIEW = "Proposed Changes";
const REASON = "test_total checks less: total([10, 20]) instead of total([10, 20]) == 30.";
const TEST = `from cart import total


def test_total():
    assert total([10, 20]) == 30
    assert total([]) == 0


def test_one():
    assert total([5]) == 5
`;
const weaker = edit("test_cart.py", "total([10, 20]) == 30", "total([10, 20])");

const editorTest = useAgent(
  [
    {
      calls: [
        plan(["Add the tax", "in_progress"]),
        edit("cart.py", "sum(prices)", "sum(prices) * 1.19"),
        weaker,
        edit(
          "test_cart.py",
          "def test_one():",
          "def test_two():\n    assert total([1, 1]) == 2.38\n\n\ndef test_one():",
        ),
      ],
    },
    { calls: [plan(["Add the tax", "completed"])] },
    { text: "Proposed." },
    { calls: [weaker] },
    { text: "Proposed once more." },
  ],
  {
    workspace: { "cart.py": "def total(prices):\n    return sum(prices)\n", "test_cart.py": TEST },
    viewport: { width: 1280, height: 900 },
  },
);
const disk = (workspace, name) => fs.readFileSync(path.join(workspace, name), "utf8");
const has = (label) => (rows) => rows.some((row) => row.label === label);
const lacks = (label) => (rows) => !rows.some((row) => row.label === label);

editorTest("a weakened test has a row in a group of its own, and its lens says why", async ({ page }) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Add the tax");
  await page.toast("Proposed.");
  await page.closeToast("Proposed.");
  const rows = await page.rows(VIEW, has("Weakened Tests"));
  const group = rows.find(({ label }) => label === "Weakened Tests");
  assert.equal(group.description, "1 change · not in Accept All");
  assert.equal(group.icon, "beaker");
  const row = rows[rows.indexOf(group) + 1];
  assert.deepEqual([row.label, row.description], ["test_cart.py: Line 5", REASON]);
  await page.rows("Plan", (steps) => steps.some(({ description }) => description === "unverified · weakens tests"));
  await page.clickRow(VIEW, "test_cart.py: Line 5");
  await page.lenses((lenses) => lenses.some((lens) => lens.includes(REASON)));
  await picture(page, "weakened-test");
});

editorTest("Accept All accepts the rest, and says what it has left", async ({ page, workspace }) => {
  await page.runCommand("Agent: Accept All");
  await page.toast("1 change weakens a test and was not accepted. Look at it in test_cart.py.");
  await page.until("the other changes", () => disk(workspace, "test_cart.py").includes("test_two"));
  assert.match(disk(workspace, "cart.py"), /1\.19/);
  assert.match(disk(workspace, "test_cart.py"), /total\(\[10, 20\]\) == 30/);
  await page.rows(VIEW, lacks("cart.py"));
  await picture(page, "weakened-test-left");
  await page.toastButton("1 change weakens a test", "Show");
  await page.diffLines("modified", { wanted: (lines) => lines.includes("    assert total([10, 20])") });
});

editorTest("the user accepts the group of weakened tests when they have looked", async ({ page, workspace }) => {
  await page.rowAction(VIEW, "Weakened Tests", "Accept");
  await page.until("the test", () => !disk(workspace, "test_cart.py").includes("== 30"));
  await page.rows(VIEW, lacks("Weakened Tests"));
});
