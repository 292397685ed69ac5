// The review of proposed text: merged with what the user types, amended in the diff, in conflict, and rejected with a
// reason.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { edit, followUp, runTask, useAgent } from "./agent.mjs";

const VIEW = "Proposed Changes";
const NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const before = `${NUMBERS.join("\n")}\n`;
/** Edits that write lines in capitals. No two files change the same line, so the label of a line identifies its row. */
const capitals = (file, ...numbers) => numbers.map((number) => edit(file, `${number}\n`, `${number.toUpperCase()}\n`));

const editorTest = useAgent(
  [
    {
      calls: [
        ...capitals("merge.txt", "one"),
        ...capitals("typed.txt", "two"),
        ...capitals("amend.txt", "three"),
        ...capitals("stale.txt", "four"),
        ...capitals("half.txt", "five", "nine"),
        ...capitals("reason.txt", "seven"),
      ],
    },
    { text: "Proposed." },
    { calls: [edit("stale.txt", "FOUR", "VIER")] },
    { text: "Changed once more." },
  ],
  {
    workspace: Object.fromEntries(
      ["merge", "typed", "amend", "stale", "half", "reason"].map((name) => [`${name}.txt`, before]),
    ),
    viewport: { width: 1280, height: 1100 },
  },
);
const disk = (workspace, name) => fs.readFileSync(path.join(workspace, name), "utf8");
const changed = (...pairs) => pairs.reduce((text, [from, to]) => text.replace(`${from}\n`, `${to}\n`), before);
const has = (label) => (rows) => rows.some((row) => row.label === label);
const lacks = (label) => (rows) => rows.length > 0 && !rows.some((row) => row.label === label);
const shows =
  (...lines) =>
  (seen) =>
    lines.every((line) => seen.includes(line));

editorTest(
  "text that the user types elsewhere in a file is merged with the proposal, and the accept includes both",
  async ({ page, workspace }) => {
    await page.showContainer("Fairlead");
    await runTask(page, "Change the files");
    await page.toast("Proposed.");
    await page.openFile("merge.txt");
    await page.clickLine("ten");
    await page.insertText("-mine");
    await page.clickRow(VIEW, "Line 1");
    await page.diffLines("modified", { wanted: shows("ONE", "ten-mine") });
    await page.rowAction(VIEW, "merge.txt", "Accept");
    await page.rows(VIEW, lacks("merge.txt"));
    await page.openFile("merge.txt");
    await page.editorLines(shows("ONE", "ten-mine"));
    await page.tab("merge.txt", (tab) => tab.dirty);
    assert.equal(disk(workspace, "merge.txt"), before);
    await page.save();
    assert.equal(disk(workspace, "merge.txt"), changed(["one", "ONE"], ["ten", "ten-mine"]));
  },
);

editorTest(
  "the user edits the proposed text in the diff and saves it: only the accept writes it to the file",
  async ({ page, workspace }) => {
    await page.clickRow(VIEW, "Line 3");
    await page.editorFocus();
    await page.diffLines("modified", { wanted: shows("THREE") });
    await page.clickDiffLine("THREE");
    await page.insertText("-amended");
    await page.tab("amend.txt (proposed)", (tab) => tab.dirty);
    await page.save();
    assert.equal(disk(workspace, "amend.txt"), before);
    await page.rowAction(VIEW, "amend.txt", "Accept");
    await page.until(
      "the amended text on disk",
      () => disk(workspace, "amend.txt") === changed(["three", "THREE-amended"]),
    );
  },
);

editorTest("an accept includes unsaved text in the diff", async ({ page, workspace }) => {
  await page.clickRow(VIEW, "Line 2");
  await page.editorFocus();
  await page.diffLines("modified", { wanted: shows("TWO") });
  await page.clickDiffLine("TWO");
  await page.insertText("-unsaved");
  await page.tab("typed.txt (proposed)", (tab) => tab.dirty);
  await page.titleAction("Accept This File");
  await page.until("the typed text on disk", () => disk(workspace, "typed.txt") === changed(["two", "TWO-unsaved"]));
  await page.until(
    "the diff to be closed",
    async () => !(await page.tabs()).some((tab) => tab.label.startsWith("typed.txt (proposed)")),
  );
  await page.rows(VIEW, lacks("typed.txt"));
});

editorTest(
  "saving over a proposal that the agent has changed meanwhile is refused until the user chooses to overwrite it",
  async ({ page, workspace }) => {
    await page.clickRow(VIEW, "Line 4");
    await page.editorFocus();
    await page.diffLines("modified", { wanted: shows("FOUR") });
    await page.clickDiffLine("FOUR");
    await page.insertText("-mine");
    await page.tab("stale.txt (proposed)", (tab) => tab.dirty);
    await followUp(page, "Change it once more");
    await page.toast("Changed once more.");
    await page.clickDiffLine("FOUR-mine");
    await page.press("ControlOrMeta+s");
    assert.deepEqual((await page.toast("newer")).buttons.slice(0, 2), ["Compare", "Overwrite"]);
    await page.closeToast("newer");
    // repeated, because VS Code drops a message that follows another one too quickly; no attempt overwrites anything
    await page.until("a second refusal", async () => {
      await page.press("ControlOrMeta+s");
      await page.page.locator(".notification-toast", { hasText: "newer" }).waitFor();
      return true;
    });
    await page.diffLines("modified", { wanted: shows("FOUR-mine") });
    await page.tab("stale.txt (proposed)", (tab) => tab.dirty);
    await page.toastButton("newer", "Overwrite");
    await page.tab("stale.txt (proposed)", (tab) => !tab.dirty);
    await page.rowAction(VIEW, "stale.txt", "Accept");
    await page.until("the user's text on disk", () => disk(workspace, "stale.txt") === changed(["four", "FOUR-mine"]));
  },
);

editorTest(
  "despite a conflict in one change, the others can be accepted; both sides are shown, and the user can keep theirs",
  async ({ page, workspace }) => {
    await page.openFile("half.txt");
    await page.clickLine("five");
    await page.insertText("-mine");
    const rows = await page.rows(VIEW, (all) => all.some((row) => row.label === "Line 5" && row.icon === "warning"));
    assert.equal(rows.find((row) => row.label === "half.txt").icon, "warning");
    assert.match(rows.find((row) => row.label === "Line 5").description, /^conflict/);
    assert.equal(rows.find((row) => row.label === "Line 9").icon, "diff-modified");
    await page.rowAction(VIEW, "Line 9", "Accept");
    await page.rows(VIEW, lacks("Line 9"));
    await page.editorLines(shows("five-mine", "NINE"));

    await page.clickRow(VIEW, "Line 5");
    await page.tab("half.txt (yours ↔ proposed)");
    await page.diffLines("original", { wanted: shows("five-mine", "NINE") });
    await page.diffLines("modified", { wanted: shows("FIVE", "NINE") });
    assert.deepEqual(await page.rowActions(VIEW, "Line 5"), ["Accept Proposed (Replace Mine)", "Keep Mine"]);
    await page.rowAction(VIEW, "Line 5", "Keep Mine");
    await page.rows(VIEW, lacks("half.txt"));
    await page.openFile("half.txt");
    await page.editorLines(shows("five-mine", "NINE"));
    await page.save();
    assert.equal(disk(workspace, "half.txt"), changed(["five", "five-mine"], ["nine", "NINE"]));
  },
);

editorTest("a rejection can have a reason, and closing the input rejects nothing", async ({ page, workspace }) => {
  await page.clickRow(VIEW, "Line 7");
  await page.diffLines("modified", { wanted: shows("SEVEN") });
  await page.runCommand("Agent: Reject with Reason...");
  await page.quickInput("Agent: Reject with Reason");
  await page.press("Escape");
  await page.rows(VIEW, has("Line 7"));
  await page.rowMenu(VIEW, "Line 7", "Reject with Reason");
  await page.fillInput("Seven is spelt small here.", { title: "Agent: Reject with Reason" });
  assert.match(await page.welcome(VIEW), /There are no changes to review/);
  assert.equal(disk(workspace, "reason.txt"), before);
});
