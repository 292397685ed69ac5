// The smallest set of proposed changes with which a check passes, in a real VS Code: found, shown, accepted.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { edit, picture, plan, runTask, useAgent, write } from "./agent.mjs";

const VIEW = "Proposed Changes";
const NEEDED = [1, 4];
const text = (numbers, changed = []) =>
  numbers.map((number) => `# ${number}\nv${number} = ${changed.includes(number) ? 2 : 1}\n\n`).join("");
const [FIRST, SECOND] = [
  [0, 1, 2, 3],
  [4, 5, 6],
];
const check = `python3 -c 'import first, second; assert first.v1 == second.v4 == 2'`;
const change = (file) => (number) => edit(file, `v${number} = 1\n`, `v${number} = 2\n`);

// milliseconds; the search runs the check up to 47 times
const SEARCH_TIMEOUT = 180_000;
const editorTest = useAgent(
  [
    {
      calls: [
        plan(["Raise the values", "in_progress", "", check]),
        ...FIRST.map(change("first.py")),
        ...SECOND.map(change("second.py")),
        write("notes.md", "# Values\n"),
      ],
    },
    { text: "The values are raised." },
  ],
  {
    workspace: { "first.py": text(FIRST), "second.py": text(SECOND) },
    viewport: { width: 1280, height: 1300 }, // VS Code draws only the rows on the screen
  },
);
const disk = (workspace, name) => fs.readFileSync(path.join(workspace, name), "utf8");
const says = (words) => (rows) => rows.filter(({ description }) => description.split(" · ").includes(words));
const needed = says("needed by the check");
const notNeeded = says("not needed by the check");
const headline = (page, wanted) =>
  page.until(`"${wanted}" above the rows`, async () => (await page.viewMessage(VIEW)) === wanted);
let hasSandbox = true; // without a sandbox, there is no search

editorTest("the rows say which changes the check needs", async ({ page }, context) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Raise the values");
  await page.toast("The values are raised.");
  await page.runCommand("Agent: Find Smallest Set That Passes...");
  await page.fillInput(check, { title: "Agent: Find Smallest Set" });
  const said = await page.toast(" needs ", SEARCH_TIMEOUT);
  hasSandbox = !said.message.includes("sandbox");
  if (!hasSandbox) return context.skip("there is no sandbox on this machine");
  assert.deepEqual(said.buttons, ["Accept These 2", "Review the Others First"]);
  await page.toastButton("needs 2 of 8 changes", "Review the Others First");
  const rows = await page.rows(VIEW, (all) => needed(all).length === 2 && notNeeded(all).length === 6);
  assert.deepEqual(
    needed(rows).map(({ label }) => label),
    ["Line 5", "Line 2"],
  );
  assert.equal(says("1 of 4 needed by the check")(rows).length, 1);
  await headline(page, "2 of 8 changes needed by the check");
  await picture(page, "smallest");
});

editorTest("after an accept, the others are marked as not needed", async ({ page, workspace }, context) => {
  if (!hasSandbox) return context.skip();
  await page.runCommand("Agent: Accept What the Check Needs");
  const rows = await page.rows(VIEW, (all) => needed(all).length === 0 && all.length === 3 + 5);
  assert.equal(disk(workspace, "first.py"), text(FIRST, NEEDED));
  assert.equal(disk(workspace, "second.py"), text(SECOND, NEEDED));
  assert.equal(notNeeded(rows).length, rows.length);
  await headline(page, "6 changes, not needed by the check");
  await picture(page, "smallest-accepted");
  await page.runCommand("Agent: Undo Review");
  await page.rows(VIEW, (all) => needed(all).length === 2);
});

editorTest("an edit by the user discards the result", async ({ page }, context) => {
  if (!hasSandbox) return context.skip();
  await page.openFile("first.py");
  await page.typeText("# mine\n", { at: "start" });
  await page.rows(VIEW, (all) => all.length > 0 && all.every(({ description }) => !description.includes("needed")));
});
