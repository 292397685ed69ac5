// The plan in a real VS Code: the evidence of its steps, and the user's edits while the agent works.

import assert from "node:assert/strict";
import { bash, edit, plan, runTask, useAgent } from "./agent.mjs";

const PLAN = "Plan";
const FAILING = "python3 test_missing.py";
const first = [
  ["Think about it", "completed"],
  ["Change a.txt", "in_progress", "Changing a.txt"],
  ["Check it"],
  ["Write a note"],
];
const editorTest = useAgent(
  [
    { calls: [{ read_file: { path: "a.txt" } }, edit("b.txt", "x", "w"), edit("c.txt", "x", "w")] },
    { calls: [bash("echo first")] },
    { calls: [plan(["Think about it", "in_progress", "Thinking"], ["Change a.txt"], ["Check it"], ["Write a note"])] },
    { calls: [plan(...first), edit("a.txt", "one", "ONE"), bash("echo wait"), bash(FAILING)] },
    {
      calls: [
        plan(
          ["Think about it", "completed"],
          ["Change a.txt", "completed"],
          ["Check it"],
          ["Check it with care"],
          ["Tell the others", "completed"],
        ),
        edit("b.txt", "w", "y"),
      ],
    },
    { text: "Stopped here." },
  ],
  {
    settings: { "fairlead.approvals": "ask" },
    workspace: { "a.txt": "one\ntwo\n", "b.txt": "x\n", "c.txt": "x\n" },
    viewport: { width: 1280, height: 1100 },
  },
);
const labels = (rows) => rows.map(({ label }) => label);
const find = (rows, label) => rows.find((row) => row.label === label);
const steps = (rows) => labels(rows.filter(({ level, label }) => level === 1 && !/^(Allow|Before)/.test(label)));
const allow = (page, command) => page.rowAction(PLAN, (row) => row.label === `Allow: ${command}`, "Allow Once");
const has = (label) => (rows) => find(rows, label) !== undefined;

editorTest("without a plan, the rows show the agent's work, marked as inferred", async ({ page }) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Change it");
  const rows = await page.rows(PLAN, has("Inferred steps"));
  assert.equal(rows.filter(({ icon }) => icon === "eye").length, 1);
  await page.rows(PLAN, has("Allow: echo first"));
  await allow(page, "echo first");
  await page.rows(PLAN, has("Before the plan"));
});

editorTest("a step shows its evidence, and a completed step without any says so", async ({ page }) => {
  await page.rows(PLAN, has("Allow: echo wait"));
  await allow(page, "echo wait");
  const rows = await page.rows(
    PLAN,
    (all) => has(`Allow: ${FAILING}`)(all) && (find(all, "echo wait")?.description.startsWith("exit 0") ?? false),
  );
  const claimed = find(rows, "Think about it");
  assert.deepEqual(
    [claimed.icon, claimed.description, claimed.name],
    ["pass", "no evidence", "Think about it, done, no evidence: nothing happened"],
  );
  const current = find(rows, "Change a.txt");
  assert.equal(current.expanded, true);
  assert.equal(current.description, "waiting for you");
  assert.deepEqual([find(rows, "a.txt").level, find(rows, "a.txt").description], [2, "to review"]);
  assert.deepEqual([find(rows, "echo wait").icon, find(rows, "echo wait").level], ["check", 2]);
});

editorTest("a file of a step opens as a diff with the changes of that step", async ({ page }) => {
  await page.clickRow(PLAN, "a.txt");
  await page.tab("a.txt (proposed), this step");
  await page.diffLines("modified", { wanted: (lines) => lines.includes("ONE") });
});

editorTest("the user adds, rewords, holds, drops and marks steps while the agent works", async ({ page }) => {
  await page.viewTitleAction(PLAN, "Add Step...");
  await page.fillInput("Tell the others", { title: "Agent: Add Step" });
  await page.rows(PLAN, (rows) => steps(rows).at(-1) === "Tell the others");
  await page.rowMenu(PLAN, "Check it", "Add Step");
  await page.fillInput("Check it twice", { title: "Agent: Add Step" });
  await page.rows(PLAN, (rows) => steps(rows)[3] === "Check it twice");
  await page.rowMenu(PLAN, "Check it twice", "Reword");
  await page.fillInput("Check it with care", { title: "Agent: Reword Step" });
  await page.rows(PLAN, has("Check it with care"));
  await page.rowAction(PLAN, "Check it", "Hold");
  const held = find(await page.rows(PLAN, (rows) => find(rows, "Check it")?.description === "held"), "Check it");
  assert.deepEqual([held.icon, held.name], ["debug-pause", "Check it, held"]);
  await page.rowAction(PLAN, "Check it", "Release");
  await page.rows(PLAN, (rows) => find(rows, "Check it")?.description === "");
  await page.clickRow(PLAN, "Write a note");
  await page.press("F2");
  await page.fillInput("Write a long note", { title: "Agent: Reword Step" });
  await page.rows(PLAN, has("Write a long note"));
  await page.clickRow(PLAN, "Write a long note");
  await page.press("Delete");
  await page.rows(PLAN, (rows) => !has("Write a long note")(rows));
  await page.press("Control+Z");
  await page.rows(PLAN, has("Write a long note"));
  await page.clickRow(PLAN, "Write a long note");
  await page.press("Delete");
  await page.rows(PLAN, (rows) => !has("Write a long note")(rows));
  await page.rowMenu(PLAN, "Tell the others", "Mark as Done");
  const marked = await page.rows(PLAN, (rows) => find(rows, "Tell the others")?.icon === "pass-filled");
  assert.deepEqual(steps(marked), [
    "Think about it",
    "Change a.txt",
    "Check it",
    "Check it with care",
    "Tell the others",
  ]);
});

editorTest("a step can be dragged to another position", async ({ page }) => {
  const row = (label) =>
    page.page
      .locator(".pane", { hasText: PLAN })
      .first()
      .locator(".monaco-list-row", { hasText: label })
      .first()
      .locator(".label-name");
  const moved = async () => steps(await page.rows(PLAN))[2] === "Check it with care";
  // the drop is shown when the server has answered; dragging again before that would move the step back
  let dragged = 0;
  await page.until("the row at its new position", async () => {
    if (await moved()) return true;
    if (Date.now() - dragged > 3000) {
      await row("Check it with care").dragTo(row("Check it"), { timeout: 1500 });
      dragged = Date.now();
    }
    return moved();
  });
});

editorTest("a step whose verification failed says so, and work outside the plan has a row", async ({ page }) => {
  await page.rowMenu(PLAN, "Check it", "Hold");
  await page.rows(PLAN, (rows) => find(rows, "Check it")?.description === "held");
  await page.rowMenu(PLAN, "Change a.txt", "Reword");
  await page.fillInput("Too late", { title: "Agent: Reword Step", accept: false });
  await allow(page, FAILING);
  await page.toast("Stopped here.");
  await page.page.locator(".quick-input-filter input").press("Enter");
  await page.toast("The plan has changed since");
  const rows = await page.rows(PLAN, has("Unplanned"));
  const failed = find(rows, "Change a.txt");
  assert.deepEqual(
    [failed.icon, failed.color, failed.expanded],
    ["warning", await page.themeColor("charts.orange"), false],
  );
  assert.equal(failed.name, `Change a.txt, done, but ${FAILING} failed`);
  await page.toggleRow(PLAN, "Change a.txt");
  const below = await page.rows(PLAN, has(FAILING));
  await page.toggleRow(PLAN, "Unplanned");
  await page.rows(PLAN, has("b.txt"));
  assert.deepEqual(
    [find(below, FAILING).icon, find(below, FAILING).name],
    ["error", `${FAILING}, failed with exit code 2`],
  );
});
