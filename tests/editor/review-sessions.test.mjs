// One review of two sessions: everything is accepted together, even identical proposals, and undone as one decision.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { edit, followUp, runTask, useAgent } from "./agent.mjs";

const VIEW = "Proposed Changes";
const before = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`).join("\n") + "\n";

// each session plays the script from its beginning
const editorTest = useAgent(
  [
    { calls: [edit("a.txt", "line 3\n", "LINE 3\n"), edit("same.txt", "bee", "BEE")] },
    { text: "## Summary\n\nDone **once**.\n\n- a.txt" },
    { calls: [edit("a.txt", "line 20\n", "LINE 20\n")] },
    { text: "Done twice." },
  ],
  { workspace: { "a.txt": before, "same.txt": "bee\n" }, viewport: { width: 1280, height: 1000 } },
);
const changed = (workspace) =>
  ["a.txt", "same.txt"].flatMap(
    (name) => fs.readFileSync(path.join(workspace, name), "utf8").match(/^[A-Z].*$/gm) ?? [],
  );
const labels = (rows) => rows.map(({ label }) => label);
const has =
  (...wanted) =>
  (rows) =>
    wanted.every((label) => labels(rows).includes(label));
const nothing = (rows) => rows.length === 0;
const until = (page, workspace, ...lines) =>
  page.until(lines.join() || "no change", () => changed(workspace).join() === lines.join());

editorTest(
  "the proposals of two sessions are accepted together, without a warning about identical ones",
  async ({ page, workspace }) => {
    await page.showContainer("Fairlead");
    await runTask(page, "First task");
    await page.toast("Done once.");
    await page.rowAction(VIEW, "Line 3", "Reject");
    await page.rows(VIEW, (rows) => has("same.txt")(rows) && !has("Line 3")(rows));
    await followUp(page, "Go on");
    await page.toast("Done twice.");
    await runTask(page, "Second task");
    await page.rows(VIEW, has("Second task", "Line 3", "First task", "Line 20"));
    await page.runCommand("Agent: Accept All");
    await until(page, workspace, "LINE 3", "LINE 20", "BEE");
    await page.rows(VIEW, nothing);
    const said = (await page.toasts()).map(({ message }) => message);
    assert.deepEqual(
      said.filter((message) => message.includes("The proposal changed")),
      [],
    );
  },
);

editorTest("one undo undoes all of it, and one redo redoes all of it", async ({ page, workspace }) => {
  await page.runCommand("Agent: Undo Review");
  await until(page, workspace);
  await page.rows(VIEW, has("Second task", "Line 3", "First task", "Line 20"));
  await page.runCommand("Agent: Redo Review");
  await until(page, workspace, "LINE 3", "LINE 20", "BEE");
  await page.rows(VIEW, nothing);
});

editorTest("a second undo reverts the earlier decision", async ({ page, workspace }) => {
  await page.runCommand("Agent: Undo Review");
  await until(page, workspace);
  const one = await page.rows(VIEW, has("Second task", "Line 3", "First task", "Line 20"));
  assert.equal(labels(one).filter((label) => label === "Line 3").length, 1);
  await page.runCommand("Agent: Undo Review");
  await page.rows(VIEW, (rows) => labels(rows).filter((label) => label === "Line 3").length === 2);
  assert.deepEqual(changed(workspace), []);
});
