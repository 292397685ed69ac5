// Which of the proposed changes a check needs, in a real VS Code: found by leaving out each, and shown.

import assert from "node:assert/strict";
import { edit, picture, plan, runTask, useAgent, write } from "./agent.mjs";

const VIEW = "Proposed Changes";
const check = "python3 tests/test_calc.py";
const calc = "def twice(n):\n    return n\n\n\n# half of a number\ndef half(n):\n    return n\n";
const test = "import sys\nsys.path.insert(0, '.')\nfrom calc import twice\nassert twice(3) == 6\n";

// milliseconds; the search runs the check 4 times
const SEARCH_TIMEOUT = 60_000;
const editorTest = useAgent(
  [
    {
      calls: [
        plan(["Repair twice", "in_progress", "", check]),
        edit("calc.py", "    return n\n\n", "    return n + n\n\n"),
        edit("calc.py", "# half of a number", "# one half of a number"),
        edit("notes.md", "old", "new"),
        write("tests/test_calc.py", test),
      ],
    },
    { calls: [plan(["Repair twice", "completed", "", check])] },
    { text: "It is repaired." },
  ],
  {
    workspace: { "calc.py": calc, "notes.md": "old\n" },
    viewport: { width: 1400, height: 1000 }, // VS Code draws only the rows on the screen
  },
);

editorTest("the rows and the step say what the check needs", async ({ page }, context) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Repair twice");
  await page.toast("It is repaired.");
  const steps = await page.rows("Plan", (all) => all.length > 0);
  const isProved = steps.some(({ description }) => description.includes("proved"));
  if (!isProved) return context.skip("there is no sandbox on this machine");
  await page.runCommand("Agent: Which Changes Does the Check Need...");
  await page.fillInput(check, { title: "Agent: Which Changes Does the Check Need" });
  const said = await page.toast("passes without", SEARCH_TIMEOUT);
  assert.match(said.message, /passes without calc\.py, line 5\. It does not read notes\.md\. \(4 runs\)/);
  const mark = (words) => (all) => all.filter(({ description }) => description.split(" · ").includes(words));
  const rows = await page.rows(VIEW, (all) => mark(`needed by ${check}`)(all).length === 1);
  assert.deepEqual(
    ["needed by " + check, "passes without it", "not read by the check"].map((words) =>
      mark(words)(rows).map(({ label }) => label),
    ),
    [["Line 2"], ["Line 5"], ["Line 1"]],
  );
  await page.rows("Plan", (all) => all.some(({ description }) => description.includes("2 changes not needed")));
  await picture(page, "needed");
});
