// The errors that proposed texts cause: on the rows, in the Problems view and as squiggles in the diff, until they are gone.

import path from "node:path";
import { edit, followUp, picture, plan, ROOT, runTask, useAgent } from "./agent.mjs";

const [PLAN, CHANGES] = ["Plan", "Proposed Changes"];
const steps = (status) => plan(["Count the items", status, "Counting"]);
const editorTest = useAgent(
  [
    { calls: [steps("in_progress"), edit("lib/total.py", "return 0", 'return "none"')] },
    { calls: [steps("completed")] },
    { text: "Counted." },
    { calls: [edit("lib/total.py", 'return "none"', "return 1")] },
    { text: "Corrected." },
  ],
  {
    workspace: { "lib/total.py": "def total() -> int:\n    return 0\n" },
    settings: {
      // enough time to find the errors even on a slow machine
      "fairlead.check.newErrorsSeconds": 600,
      "fairlead.languageServers": {
        basedpyright: false,
        pyright: { command: [path.join(ROOT, "node_modules/.bin/pyright-langserver"), "--stdio"] },
      },
    },
    viewport: { width: 1280, height: 1000 },
    own: true,
  },
);
const says = (label, words) => (rows) => rows.some((row) => row.label === label && row.description.includes(words));

editorTest("a new error is on the rows of its file, its change and its step, and in the diff", async ({ page }) => {
  await runTask(page, "Count the items");
  await page.rows(CHANGES, says("total.py", "1 error"));
  await page.rows(CHANGES, says("Line 2", "1 error"));
  await page.rows(CHANGES, ([file]) => file.badge === "1");
  await page.rows(PLAN, says("Count the items", "1 error"));
  await page.clickRow(PLAN, "Count the items");
  await page.diffLines("modified", { wanted: (lines) => lines.some((line) => line.includes('return "none"')) });
  await page.until("the squiggle", () => page.page.locator(".editor.modified .squiggly-error").count());
  await page.runCommand("Problems: Focus on Problems View");
  await page.until("the problem in its view", async () =>
    (await page.page.locator(".markers-panel-container").innerText()).includes("not assignable to return type"),
  );
  await picture(page, "problems");
});

editorTest("the corrected text has no errors left anywhere", async ({ page }) => {
  await followUp(page, "Correct it");
  await page.rows(
    CHANGES,
    (rows) => rows.length > 0 && rows.every(({ description }) => !description.includes("error")),
  );
  await page.rows(PLAN, (rows) => rows.every(({ description }) => !description.includes("error")));
  await page.until("an empty Problems view", async () =>
    (await page.page.locator(".markers-panel-container").innerText()).includes("No problems"),
  );
});
