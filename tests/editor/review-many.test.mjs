// The review of 25 files: with the keyboard alone, and all at once. And of a file that is longer than the window.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { edit, followUp, useAgent } from "./agent.mjs";

const VIEW = "Proposed Changes";
const FILES = Array.from({ length: 25 }, (_, index) => `many${String(index).padStart(2, "0")}.txt`);
/** A folder row, and the files below it. */
const FOLDER = "texts/many";
const before = "one\ntwo\nthree\n";
const first = "one\nTWO\nthree\n";
const second = "one\nTWO\nTHREE\n";
const numbered = (text, number) => `${text} ${number}\n`;
const long = Array.from({ length: 60 }, (_, index) => numbered("line", index + 1)).join("");
/** The lines that change in the long file. */
const CHANGED = [7, 13, 19, 25, 31, 37, 43, 49, 55];

const editorTest = useAgent(
  [
    { calls: FILES.map((file) => edit(`${FOLDER}/${file}`, "two\n", "TWO\n")) },
    { text: "Proposed." },
    { calls: CHANGED.map((number) => edit("long.txt", numbered("line", number), numbered("LINE", number))) },
    { text: "Proposed a long file." },
    { calls: FILES.map((file) => edit(`${FOLDER}/${file}`, "three\n", "THREE\n")) },
    { text: "Proposed again." },
  ],
  {
    workspace: {
      ...Object.fromEntries(FILES.map((file) => [`${FOLDER}/${file}`, before])),
      "open.txt": "open\n",
      "long.txt": long,
    },
  },
);
const disk = (workspace, file) => fs.readFileSync(path.join(workspace, FOLDER, file), "utf8");
const focusInList = (page) =>
  page.until("the focus in the list", () =>
    page.page.evaluate(() => Boolean(document.activeElement?.closest(".pane .monaco-list"))),
  );
const line = (page, number) => page.statusItem("status.editor.selection", ({ text }) => text.includes(`Ln ${number},`));

editorTest(
  "with the keyboard alone, from Run Task to the last accepted change, and back to the editor that was open before",
  async ({ page, workspace }, context) => {
    await page.openFile("open.txt");
    await page.typeCommand("Agent: Run Task");
    await page.quickInput("Agent: Run Task");
    await page.insertText("Change many files");
    await page.press("Enter");
    await page.toast("Proposed.");
    // VS Code takes the focus away from the text of an empty view when its rows arrive
    const rows = await page.rows(VIEW, ([row]) => row?.label === FOLDER && row.description === "25 files");
    assert.ok(rows.slice(1).every(({ label, level }) => level === 2 && FILES.includes(label)));
    await page.typeCommand("Fairlead: Focus on Proposed Changes View");
    await focusInList(page);
    const began = performance.now();
    await page.press("Alt+j");
    await page.rows(VIEW, (all) => all.some(({ label, selected }) => label === "Line 2" && selected));
    for (const [index, file] of FILES.entries()) {
      await page.tab(`${file} (proposed)`);
      await page.editorFocus();
      await line(page, 2);
      await page.press(index % 2 ? "Shift+Alt+y" : "Alt+y");
      await page.until(`${file} on disk`, () => disk(workspace, file) === first);
    }
    context.diagnostic(`figure: 25 decisions with the keyboard took ${seconds(began)}`);
    await page.welcome(VIEW);
    await page.tab("open.txt");
    await page.editorFocus();
    await page.insertText("typed ");
    await page.editorLines((lines) => lines.some((text) => text.includes("typed ")));
  },
);

editorTest(
  "in a multi-file diff, the change at the cursor is in view after each decision and undo",
  async ({ page }) => {
    // VS Code may scroll in the frame after it has drawn a diff again
    const frames = () =>
      page.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const isInView = async (number, left) => {
      await line(page, number);
      await page.lenses((titles) => titles.filter((title) => title === "Accept").length === left);
      await frames();
      await page.diffLines("modified", { file: "long.txt", wanted: (lines) => lines.includes(`LINE ${number}`) });
    };
    await followUp(page, "Change a long file");
    await page.toast("Proposed a long file.");
    await page.viewTitleAction(VIEW, "Review All Changes");
    await page.editorFocus();
    for (const [index, number] of CHANGED.entries()) {
      await isInView(number, CHANGED.length - index);
      if (number !== CHANGED.at(-1)) await page.press("Alt+y");
    }
    for (const [index, number] of CHANGED.slice(0, -1).reverse().entries()) {
      await page.press("Alt+u");
      await isInView(number, index + 2);
    }
    await page.viewTitleAction(VIEW, "Accept All");
    await page.welcome(VIEW);
  },
);

editorTest("all files are accepted at once and undone, and no tab is opened for them", async (editor, context) => {
  const { page, workspace } = editor;
  await followUp(page, "Change them again");
  await page.toast("Proposed again.");
  const open = async () => (await page.tabs()).map(({ label, active }) => `${label} ${active}`).join();
  const tabs = await open();
  for (const [action, text] of [
    ["Accept All", second],
    ["Undo Review", first],
  ]) {
    const began = performance.now();
    await page.viewTitleAction(VIEW, action);
    await page.until(`all files after ${action}`, () => FILES.every((file) => disk(workspace, file) === text));
    context.diagnostic(`figure: ${action} of 25 files took ${seconds(began)}`);
  }
  await page.rows(VIEW, (rows) => rows.some(({ label }) => label === FILES[0]));
  assert.equal(await open(), tabs);
  await page.runCommand("Fairlead: Focus on Proposed Changes View");
  await focusInList(page);
  await page.press("Home");
  await page.rows(VIEW, ([row]) => row.focused && row.label === FOLDER);
  await page.press("Alt+y");
  await page.until("all files of the folder", () => FILES.every((file) => disk(workspace, file) === second));
});

function seconds(began) {
  return `${((performance.now() - began) / 1000).toFixed(2)} s`;
}
