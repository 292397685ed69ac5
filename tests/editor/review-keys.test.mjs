// The review with CodeLenses and with the keyboard alone.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { edit, remove, runTask, useAgent, write } from "./agent.mjs";

const VIEW = "Proposed Changes";
const PROPOSED = /^Proposed: /;
const NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const before = `${NUMBERS.join("\n")}\n`;
const capitals = (file, ...numbers) => numbers.map((number) => edit(file, `${number}\n`, `${number.toUpperCase()}\n`));

const editorTest = useAgent(
  [
    {
      calls: [
        ...capitals("lens.txt", "one", "four", "seven"),
        ...capitals("multi.txt", "two"),
        ...capitals("keys.txt", "three", "six", "nine"),
        ...capitals("rest.txt", "five"),
        ...capitals("tree.txt", "eight", "ten"),
        remove("gone.txt"),
        write("new.txt", "new\n"),
      ],
    },
    { text: "Proposed." },
  ],
  {
    workspace: {
      ...Object.fromEntries(["lens", "multi", "keys", "rest", "tree"].map((name) => [`${name}.txt`, before])),
      "gone.txt": "gone\n",
    },
    viewport: { width: 1280, height: 1100 },
  },
);
const disk = (workspace, name) => fs.readFileSync(path.join(workspace, name), "utf8");
const changed = (...numbers) =>
  numbers.reduce((text, number) => text.replace(`${number}\n`, `${number.toUpperCase()}\n`), before);
const lacks = (label) => (rows) => rows.length > 0 && !rows.some((row) => row.label === label);
const shows =
  (...lines) =>
  (seen) =>
    lines.every((line) => seen.includes(line));
const line = async (page, number) =>
  page.statusItem("status.editor.selection", ({ text }) => text.includes(`Ln ${number},`));

editorTest("in the diff, a CodeLens at each change accepts or rejects it", async ({ page, workspace }) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Change the files");
  await page.toast("Proposed.");
  await page.clickRow(VIEW, "Line 1");
  await page.lenses((titles) => titles.filter((title) => title === "Accept").length === 3);
  // at the second click the change is already decided, which must not show a message
  await page.page.locator(".codelens-decoration a", { hasText: "Accept" }).first().dblclick();
  await page.until("the first change on disk", () => disk(workspace, "lens.txt") === changed("one"));
  await page.rows(VIEW, lacks("Line 1"));
  await page.diffLines("original", { wanted: shows("ONE") });
  await page.lenses((titles) => titles.filter((title) => title === "Reject").length === 2);
  await page.clickLens("Reject");
  await page.rows(VIEW, lacks("Line 4"));
  assert.equal(disk(workspace, "lens.txt"), changed("one"));
  const messages = (await page.toasts()).map(({ message }) => message);
  assert.deepEqual(
    messages.filter((message) => !message.startsWith("“Change the files”: Proposed.")),
    [],
  );
});

editorTest(
  "a CodeLens in the multi-file diff accepts a change, and a decided file disappears from the diff",
  async ({ page, workspace }) => {
    await page.viewTitleAction(VIEW, "Review All Changes");
    await page.diffLines("modified", { file: "multi.txt", wanted: shows("TWO") });
    await page.clickLens("Accept", { file: "multi.txt" });
    await page.until("the change on disk", () => disk(workspace, "multi.txt") === changed("two"));
    await page.rows(VIEW, lacks("multi.txt"));
    await page.tab("Proposed: Change the files (6 files)");
    assert.equal((await page.tabs()).filter(({ label }) => label.startsWith("Proposed: ")).length, 1);
    await page.until("the count", async () => (await page.viewDescription(VIEW)) === "6 of 7 files left");
    await page.statusItem("fairlead.review", ({ text }) => text === "6 of 7 left");
  },
);

editorTest("in the diff, the keys decide on the change at the cursor or on the file", async ({ page, workspace }) => {
  await page.clickRow(VIEW, "Line 3");
  await page.editorFocus();
  await page.clickDiffLine("THREE");
  await page.press("Alt+y");
  await page.until("the change on disk", () => disk(workspace, "keys.txt") === changed("three"));
  await line(page, 6);
  await page.press("Alt+n");
  await page.rows(VIEW, lacks("Line 6"));
  await line(page, 9);
  await page.clickDiffLine("one");
  await page.press("Alt+y");
  await page.until("the message that nothing was done", async () =>
    (await page.screen()).includes("No proposed change at the cursor."),
  );
  await page.press("Shift+Alt+y");
  await page.until("the file on disk", () => disk(workspace, "keys.txt") === changed("three", "nine"));
  await page.tab("rest.txt (proposed)");
  await line(page, 5);
  // the diff replaces the one that has the focus, and gets it
  await page.press("Alt+u");
  await page.tab("keys.txt (proposed)");
  await line(page, 9);
  await page.editorFocus();
  await page.press("Shift+Alt+y");
  await page.until("the file on disk", () => disk(workspace, "keys.txt") === changed("three", "nine"));
  await page.tab("rest.txt (proposed)");
  await line(page, 5);
  await page.press("Alt+j");
  await page.tab("tree.txt (proposed)");
});

editorTest("the keys decide in the multi-file diff too, and stay in it", async ({ page }) => {
  await page.clickTab("Proposed: Change the files (6 files)");
  // keys.txt has been decided meanwhile; the click updates the files in the same tab, which keeps the focus
  await page.tab("Proposed: Change the files (5 files)");
  await page.until(
    "one diff",
    async () => (await page.tabs()).filter(({ label }) => PROPOSED.test(label)).length === 1,
  );
  await page.editorFocus();
  await page.clickDiffLine("FIVE", { file: "rest.txt" });
  await page.press("Shift+Alt+n");
  await page.rows(VIEW, lacks("rest.txt"));
  await page.tab("Proposed: Change the files (4 files)");
  await line(page, 8);
  await page.press("Alt+j");
  await line(page, 10);
  await page.press("Alt+k");
  await line(page, 8);
  await page.tab("Proposed: Change the files (4 files)");
  await page.press("Alt+u");
  await page.rows(VIEW, (rows) => rows.some(({ label }) => label === "rest.txt"));
  await page.tab("Proposed: Change the files (5 files)");
  await page.until("the file in the diff again", async () => (await page.diffFiles()).includes("rest.txt"));
  await page.rowAction(VIEW, "rest.txt", "Reject");
  await page.rows(VIEW, lacks("rest.txt"));
  await page.clickLens("Reject File", { file: "tree.txt" });
  await page.rows(VIEW, lacks("tree.txt"));
  await page.viewTitleAction(VIEW, "Undo Review");
  await page.rows(VIEW, (rows) => rows.some(({ label }) => label === "Line 10"));
});

editorTest("the keys go from change to change through all files, and wrap around", async ({ page }) => {
  const order = [
    ["gone.txt (deleted, proposed)", 1, "gone.txt", "File 1 of 4"],
    ["lens.txt (proposed)", 7, "Line 7", "Change 1 of 1, file 2 of 4"],
    ["tree.txt (proposed)", 8, "Line 8", "Change 1 of 2, file 3 of 4"],
    ["tree.txt (proposed)", 10, "Line 10", "Change 2 of 2, file 3 of 4"],
    ["new.txt (new file, proposed)", 1, "new.txt", "File 4 of 4"],
  ];
  const rows = await page.rows(VIEW);
  assert.deepEqual(
    rows.map(({ label }) => label),
    ["gone.txt", "lens.txt", "Line 7", "tree.txt", "Line 8", "Line 10", "new.txt"],
  );
  await page.clickRow(VIEW, "gone.txt");
  await page.tab(order[0][0]);
  for (const [label, number, row, position] of [...order.slice(1), order[0]]) {
    await page.press("Alt+j");
    await page.tab(label);
    await line(page, number);
    await page.rows(VIEW, (all) => all.some((each) => each.selected && each.label === row));
    await page.statusItem("fairlead.position", ({ text }) => text === position);
    await page.editorFocus();
  }
  for (const [label, number] of [...order].reverse()) {
    await page.press("Alt+k");
    await page.tab(label);
    await line(page, number);
  }
});

editorTest("an open file that is to be deleted is decided there, as a whole", async ({ page }) => {
  await page.openFile("gone.txt");
  await page.editorFocus();
  await page.statusItem("fairlead.position", ({ text }) => /File \d of \d/.test(text));
  await page.runCommand("Agent: Reject Change at Cursor"); // there whenever its key works
  await page.rows(VIEW, lacks("gone.txt"));
  await page.runCommand("Agent: Undo Review");
  await page.rows(VIEW, (rows) => rows.some(({ label }) => label === "gone.txt"));
});

editorTest(
  "a change that the user has edited in the diff is accepted by the second key",
  async ({ page, workspace }) => {
    await page.clickRow(VIEW, "Line 8");
    await page.tab("tree.txt (proposed)");
    await page.clickDiffLine("EIGHT");
    await page.press("End");
    await page.insertText("!");
    await page.press("Alt+y");
    await page.toast("Your edit was saved to the proposal.");
    await page.press("Alt+y");
    await page.until("the change on disk", () => disk(workspace, "tree.txt").includes("EIGHT!\nnine\nten"));
    await page.runCommand("Agent: Undo Review");
    await page.rows(VIEW, (rows) => rows.some(({ label }) => label === "Line 8"));
  },
);

editorTest("the keys decide on the focused row of the list", async ({ page, workspace }) => {
  await page.clickRow(VIEW, "tree.txt");
  await page.tab("tree.txt (proposed)");
  await page.runCommand("Fairlead: Focus on Proposed Changes View");
  const go = async (key, label) => {
    await page.rows(VIEW, (rows) => rows.some(({ focused }) => focused));
    await page.press(key);
    await page.rows(VIEW, (rows) => rows.some((row) => row.focused && row.label === label));
  };
  await go("Home", "gone.txt");
  for (const label of ["lens.txt", "Line 7", "tree.txt", "Line 8"]) await go("ArrowDown", label);
  await page.press("Alt+y");
  await page.until("the change on disk", () => disk(workspace, "tree.txt").includes("EIGHT!\nnine\nten"));
  await page.rows(
    VIEW,
    (rows) => lacks("Line 8")(rows) && rows.some(({ focused, label }) => focused && label === "Line 10"),
  );
  await line(page, 10);
  await page.tab("tree.txt (proposed)");
  await go("Home", "gone.txt");
  await page.press("Alt+n");
  await page.rows(
    VIEW,
    (rows) => lacks("gone.txt")(rows) && rows.some(({ focused, label }) => focused && label === "lens.txt"),
  );
  assert.ok(fs.existsSync(path.join(workspace, "gone.txt")));
  await page.press("Alt+u");
  await page.rows(VIEW, (rows) => rows.some(({ focused, label }) => focused && label === "gone.txt"));
  await page.press("Alt+r");
  await page.quickInput("Agent: Reject with Reason");
  await page.insertText("it is needed");
  await page.press("Enter");
  await page.rows(
    VIEW,
    (rows) => lacks("gone.txt")(rows) && rows.some(({ focused, label }) => focused && label === "lens.txt"),
  );
});

editorTest("after the last decision, the side bar stays as it was", async ({ page }) => {
  await page.runCommand("View: Close All Editors");
  await page.showContainer("Explorer");
  await page.runCommand("Agent: Next Proposed Change");
  await page.until("a diff", async () => (await page.tabs()).some(({ label }) => label.endsWith("proposed)")));
  await page.editorFocus();
  await page.until("no diff", async () => {
    const tabs = await page.page.locator(".editor-group-container .tab", { hasText: "proposed)" }).count();
    if (tabs > 0) await page.press("Shift+Alt+y");
    return tabs === 0;
  });
  // what the decision does to the focus, it does before the palette opens
  await page.runCommand("View: Toggle Panel Visibility");
  assert.equal(await page.page.locator(".part.sidebar .title-label", { hasText: "Explorer" }).count(), 1);
});
