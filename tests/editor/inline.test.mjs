// The proposed changes in the user's own file.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { edit, picture, runTask, useAgent } from "./agent.mjs";

const VIEW = "Proposed Changes";
const NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const before = `${NUMBERS.join("\n")}\n`;
const many = Array.from({ length: 25 }, (_, n) => `a${n}\nb${n}\n`).join("");
const upper = (file, ...numbers) => numbers.map((number) => edit(file, `${number}\n`, `${number.toUpperCase()}\n`));

const editorTest = useAgent(
  [
    {
      calls: [
        ...upper("a.txt", "one", "four", "seven", "nine"),
        ...upper("b.txt", "five"),
        ...Array.from({ length: 25 }, (_, n) => edit("long.md", `b${n}\n`, `B${n}\n`)),
      ],
    },
    { text: "Proposed." },
  ],
  { workspace: { "a.txt": before, "b.txt": before, "long.md": many }, viewport: { width: 1280, height: 1100 } },
);

const disk = (workspace, name) => fs.readFileSync(path.join(workspace, name), "utf8");
const widgets = (page) => page.page.locator(".editor-instance .review-widget");
const change = (page, text) => widgets(page).filter({ hasText: text });
const count = (page, wanted) => page.until(`${wanted} changes`, async () => (await widgets(page).count()) === wanted);
const line = async (page, number) =>
  page.statusItem("status.editor.selection", ({ text }) => text.includes(`Ln ${number},`));

editorTest("a file shows its changes, which can be decided with buttons", async ({ page, workspace }) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Change the files");
  await page.toast("Proposed.");
  await page.openFile("a.txt");
  await count(page, 4);
  await change(page, "+ FOUR").getByText("Proposed change 2 of 4, file 1 of 3").waitFor();
  assert.equal((await page.tabs()).find(({ label }) => label === "a.txt").dirty, false);
  assert.deepEqual(await page.page.locator(".codelens-decoration a").allTextContents(), []);
  await picture(page, "inline");
  await change(page, "+ FOUR").hover();
  await change(page, "+ FOUR").getByRole("button", { name: "Accept Change" }).click();
  await page.until("the change on disk", () => disk(workspace, "a.txt").includes("FOUR"));
  await count(page, 3);
  await change(page, "+ ONE").getByRole("button", { name: "Open Diff" }).click();
  await page.tab("a.txt (proposed)");
});

editorTest(
  "in the file, the keys decide on the change at the cursor, through all files",
  async ({ page, workspace }) => {
    await page.openFile("a.txt");
    await count(page, 3);
    await page.editorFocus();
    await page.press("Control+Home");
    await line(page, 1);
    // the last change of the last file, below those that VS Code draws after it has opened the file
    await page.press("Alt+k");
    await page.tab("long.md");
    await line(page, 50);
    await page.until("20 changes, and the last one in view", async () => {
      const { bottom, height } = await change(page, "+ B24").evaluate((widget) => ({
        bottom: widget.getBoundingClientRect().bottom,
        height: innerHeight,
      }));
      return bottom < height && (await widgets(page).count()) === 20;
    });
    await page.press("Alt+j");
    await page.tab("a.txt");
    await line(page, 1);
    await count(page, 3);
    await page.press("Alt+y");
    await page.until("the change on disk", () => disk(workspace, "a.txt").startsWith("ONE\n"));
    await line(page, 7);
    await page.press("Alt+r");
    await page.fillInput("Too loud");
    await line(page, 9);
    await page.press("Alt+j");
    await page.tab("b.txt");
    await line(page, 5);
    await page.press("Alt+n");
    await page.rows(VIEW, (rows) => rows.length > 0 && !rows.some(({ label }) => label === "b.txt"));
    await page.tab("long.md");
    await line(page, 2);
    await page.press("Alt+u");
    await page.tab("b.txt");
    await line(page, 5);
    await page.rows(VIEW, (rows) => {
      const files = rows.filter(({ level }) => level === 1).map(({ label }) => label);
      return files.join() === "a.txt,b.txt,long.md";
    });
    await count(page, 1);
    await page.press("Alt+n");
    await page.tab("long.md");
    assert.equal(disk(workspace, "b.txt"), before);
  },
);

editorTest("a change keeps its place while the user types above it", async ({ page, workspace }) => {
  await page.openFile("a.txt");
  await count(page, 1);
  await page.editorFocus();
  for (const key of ["Control+Home", "ArrowDown", "End"]) await page.press(key);
  await line(page, 2);
  await page.insertText(" and a half");
  await page.press("Alt+j");
  await line(page, 9);
  await page.press("Alt+y");
  await page.tab("long.md");
  await page.openFile("a.txt");
  await count(page, 0);
  await page.save();
  assert.equal(disk(workspace, "a.txt"), "ONE\ntwo and a half\nthree\nFOUR\nfive\nsix\nseven\neight\nNINE\nten\n");
});

editorTest("the keys stop at a conflict, keep the user's lines or, pressed twice, replace them", async ({ page }) => {
  const shows = (text) => page.editorLines((lines) => lines.includes(text));
  await page.openFile("long.md");
  await page.clickLine("b0");
  await page.insertText(" mine");
  await change(page, "+ B0").getByText("Conflict: Proposed change 1 of 25").waitFor();
  await page.press("Alt+j");
  await line(page, 4);
  await page.press("Alt+k");
  await line(page, 2);
  await page.press("Alt+y");
  await page.toast("Accept again to replace your lines. Reject keeps them.");
  const told = performance.now();
  await shows("b0 mine");
  // before, the key counts as held down
  await page.until("the time to read the message", () => performance.now() - told > 500);
  await page.press("Alt+y");
  await line(page, 4);
  await shows("B0");
  await page.press("Alt+u");
  await line(page, 2);
  await shows("b0 mine");
  await page.press("Alt+n");
  await page.rows(VIEW, (rows) => rows.length > 0 && !rows.some(({ label }) => label === "Line 2"));
  await line(page, 4);
  await shows("b0 mine");
});

editorTest("of many changes, those near what is visible are shown, and all have a CodeLens", async ({ page }) => {
  await page.openFile("long.md");
  await page.until("some changes", async () => (await widgets(page).count()) > 3);
  await page.lenses((titles) => titles.some((title) => title.startsWith("Fairlead: Accept")));
  await page.press("Control+End");
  await change(page, "+ B24").waitFor();
});

editorTest("the setting turns the changes in the file off", async ({ page, workspace }) => {
  fs.mkdirSync(path.join(workspace, ".vscode"));
  fs.writeFileSync(path.join(workspace, ".vscode", "settings.json"), '{ "fairlead.inlineChanges": false }');
  await count(page, 0);
});
