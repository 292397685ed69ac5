// The review of created, deleted and renamed files and of one plan step: order, marks, diffs and decisions.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { edit, plan, remove, rename, runTask, useAgent, write } from "./agent.mjs";

const VIEW = "Proposed Changes";
const steps = (first, second) => plan(["Tidy up", first, "Tidying"], ["Build it", second, "Building"]);

const editorTest = useAgent(
  [
    {
      calls: [
        steps("in_progress", "pending"),
        edit("both.txt", "one\n", "ONE\n"),
        remove("gone.txt"),
        remove("typed.txt"),
        rename("old.txt", "new.txt"),
      ],
    },
    {
      calls: [
        steps("completed", "in_progress"),
        edit("both.txt", "three\n", "THREE\n"),
        edit(".github/workflows/ci.yml", "cp", "cp all"),
        rename("turned.txt", "sub/turned.txt"),
        edit("sub/turned.txt", "two", "TWO"),
        write("sub/fresh.txt", "fresh\n"),
      ],
    },
    { calls: [steps("completed", "completed")] },
    { text: "Proposed." },
  ],
  {
    workspace: {
      "both.txt": "one\ntwo\nthree\n",
      "gone.txt": "to be deleted\n",
      "typed.txt": "to be deleted too\n",
      "old.txt": "the same\n",
      "turned.txt": "\ufeffone\r\ntwo\r\nthree",
      ".github/workflows/ci.yml": "run: cp\n",
    },
    viewport: { width: 1280, height: 1100 },
  },
);
const there = (workspace, name) => fs.existsSync(path.join(workspace, name));
const disk = (workspace, name) => fs.readFileSync(path.join(workspace, name), "utf8");
const lacks = (label) => (rows) => rows.length > 0 && !rows.some((row) => row.label === label);
const byLabel = (rows) => Object.fromEntries(rows.map((row) => [row.label, row]));

editorTest("risky files come first and are marked, and each row names its kind of change", async ({ page }) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Tidy up and build");
  await page.toast("Proposed.");
  const risky = ["gone.txt", "typed.txt", "ci.yml"];
  // the view may be drawn in parts
  const rows = await page.rows(
    VIEW,
    (all) =>
      risky.every((label, index) => all[index]?.label === label) && all.some(({ label }) => label === "fresh.txt"),
  );
  const found = byLabel(rows);
  assert.match(found["gone.txt"].description, /^deletion · \+0 −1$/);
  assert.equal(found["gone.txt"].icon, "trash");
  assert.equal(found["gone.txt"].color, await page.themeColor("charts.red"));
  assert.match(found["ci.yml"].description, /CI/);
  assert.match(found["ci.yml"].name, /CI configuration\./);
  assert.match(found["old.txt"].description, /renamed → new\.txt/);
  assert.match(found["turned.txt"].description, /renamed → sub\/turned\.txt/);
  assert.match(found["fresh.txt"].description, /sub · new/);
  assert.match(await page.tooltip(VIEW, "gone.txt"), /Accepting deletes this file/);
});

editorTest("files with proposed changes are marked in the Explorer and on tabs", async ({ page }) => {
  await page.openFile("both.txt");
  await page.tab("both.txt", (tab) => tab.badge === "P");
  await page.showContainer("Explorer");
  const rows = await page.rows("workspace", (all) =>
    all.some(({ label, badge }) => label === "gone.txt" && badge === "P"),
  );
  assert.notEqual(byLabel(rows)[".github"].badge, "", "a folder is marked if a file in it is");
  await page.runCommand("Fairlead: Focus on Proposed Changes View");
});

editorTest("one plan step is reviewed alone, and its texts cannot be edited", async ({ page }) => {
  await page.rowAction("Plan", "Tidy up", "Review This Step");
  await page.tab("Step: Tidy up (4 files)");
  assert.deepEqual((await page.diffFiles(4)).sort(), ["both.txt", "gone.txt", "old.txt", "typed.txt"]);
  const right = await page.diffLines("modified", { file: "both.txt", wanted: (lines) => lines.includes("ONE") });
  assert.ok(right.includes("three") && !right.includes("THREE"), right.join());
  await page.clickDiffLine("ONE", { file: "both.txt" });
  await page.press("x");
  await page.diffLines("modified", { file: "both.txt", wanted: (lines) => lines.includes("ONE") });
  assert.ok(!(await page.tab("Step: Tidy up (4 files)")).dirty);
});

editorTest("a renamed file's row below its step opens its diff", async ({ page }) => {
  await page.toggleRow("Plan", "Tidy up");
  const [row] = (await page.rows("Plan", (rows) => rows.some(({ label }) => label === "new.txt"))).filter(
    ({ label }) => label === "new.txt",
  );
  await page.clickRow("Plan", row.label);
  await page.tab("old.txt → new.txt (renamed, proposed), this step");
});

editorTest("a renamed file keeps its unsaved text, which stays unsaved", async ({ page, workspace }) => {
  await page.openFile("old.txt");
  await page.typeText("mine\n", { at: "end" });
  await page.tab("old.txt", (tab) => tab.dirty);
  await page.rowAction(VIEW, "old.txt", "Accept");
  await page.until("the new name on disk", () => there(workspace, "new.txt"));
  await page.clickTab("new.txt");
  await page.editorLines((lines) => lines.includes("mine"));
  await page.tab("new.txt", (tab) => tab.dirty);
  assert.equal(disk(workspace, "new.txt"), "the same\n");
});

editorTest("a change in a step's diff has its own buttons", async ({ page, workspace }) => {
  await page.rowAction("Plan", "Build it", "Review This Step");
  await page.tab("Step: Build it (4 files)");
  await page.clickLens("Accept", { file: "both.txt" });
  await page.until("the change on disk", () => disk(workspace, "both.txt") === "one\ntwo\nTHREE\n");
  await page.tab("Step: Build it (3 files)");
});

editorTest("Accept All Shown in a step's diff accepts only that step", async ({ page, workspace }) => {
  await page.titleAction("Accept All Shown");
  await page.toastButton("Accept “.github/workflows/ci.yml”?", "Accept This File");
  const rows = await page.rows(VIEW, (all) => lacks("fresh.txt")(all) && lacks("ci.yml")(all));
  assert.deepEqual(rows.map(({ label }) => label).sort(), ["Line 1", "both.txt", "gone.txt", "typed.txt"]);
  assert.equal(disk(workspace, ".github/workflows/ci.yml"), "run: cp all\n");
  assert.equal(disk(workspace, "sub/fresh.txt"), "fresh\n");
  assert.ok(there(workspace, "sub/turned.txt") && !there(workspace, "turned.txt"));
  await page.until(
    "the step's diff to be closed",
    async () => !(await page.tabs()).some((tab) => tab.label.startsWith("Step: Build it")),
  );
});
