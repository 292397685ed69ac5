// What the links and buttons of the conversation open, and what its chips show when a file is closed.

import fs from "node:fs";
import path from "node:path";
import { followUp, runTask, useAgent } from "./agent.mjs";

const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
// below each other, because a button covers the first line under the pointer
const LINKS = ["src/a.txt#L2", "src/b.txt", "./src/", "logo.png", "data.bin", "none.txt"]
  .map((to) => `- [${to}](${to})`)
  .join("\n");
const read = (path) => ({ calls: [{ read_file: { path } }] });
const editorTest = useAgent(
  [
    { text: `Here it is:\n\n${LINKS}` },
    { text: "Begun." },
    read("one.txt"),
    { text: "One is read." },
    read("two.txt"),
    { text: "Two is read." },
  ],
  {
    workspace: {
      "src/a.txt": "one\ntwo\n",
      "src/b.txt": "",
      "logo.png": PICTURE,
      "data.bin": Buffer.from([0, 0, 1, 0xff]),
      "one.txt": "first text\n".repeat(1500),
      "two.txt": "second text\n".repeat(1500),
    },
  },
);
const inView = (page, selector, options) => page.webview().locator(selector, options);
const clickLink = (page, text) => inView(page, ".answer a", { hasText: text }).click();

editorTest("a link opens a file at its line, shows a folder in the Explorer, and opens a picture", async ({ page }) => {
  await runTask(page, "Where is it?");
  await page.runCommand("Agent: Show Conversation");
  await clickLink(page, "src/a.txt#L2");
  await page.tab("a.txt");
  await page.statusItem("status.editor.selection", ({ text }) => text.includes("Ln 2"));
  await clickLink(page, "./src/");
  await page.page.locator(".explorer-folders-view .monaco-list-row.selected", { hasText: "src" }).waitFor();
  await clickLink(page, "none.txt");
  await page.toast("none.txt cannot be opened.");
  await page.closeToast("none.txt cannot be opened.");
  await clickLink(page, "logo.png");
  await page.tab("logo.png");
});

editorTest("the whole text of an entry opens, also if it has replaced another one after a rewind", async ({ page }) => {
  const openWhole = async () => {
    await inView(page, ".tool summary").last().click();
    await inView(page, ".tool button[data-action=showWhole]").last().click();
  };
  const shows = (part) => page.editorLines((lines) => lines.some((line) => line.includes(part)));
  await page.runCommand("View: Close All Editors");
  const readInstead = async (last, prompt, answer) => {
    await page.runCommand("Agent: Rewind...");
    await page.fillInput(last, { title: "Agent: Rewind “Where is it?”" });
    await page.fillInput("Conversation Only", { title: "Agent: Rewind to Before This Message" });
    await inView(page, ".entry.prompt", { hasText: last }).waitFor({ state: "detached" });
    await followUp(page, prompt);
    await inView(page, ".answer", { hasText: answer }).waitFor();
  };
  await followUp(page, "Begin");
  await inView(page, ".answer", { hasText: "Begun." }).waitFor();
  await readInstead("Begin", "Read one", "One is read.");
  await openWhole();
  await shows("first text");
  const { label } = (await page.tabs()).find(({ active }) => active);
  await readInstead("Read one", "Read two", "Two is read.");
  await openWhole();
  await shows("second text");
  await page.tab(label);
});

editorTest("the chip of a file disappears when the file is closed in the background", async ({ page }) => {
  await page.runCommand("View: Close All Editors");
  await page.openFile("src/a.txt");
  await clickLink(page, "data.bin"); // not a text, so that the chip still names the file before
  await page.tab("data.bin");
  const chip = inView(page, ".chip", { hasText: "src/a.txt" });
  await chip.waitFor();
  await page.runCommand("View: Close Other Editors in Group");
  await chip.waitFor({ state: "detached" });
});

editorTest("a link shows the unsaved text of a file that was deleted on disk", async ({ page, workspace }) => {
  await page.openFile("src/b.txt");
  await page.typeText("unsaved", { at: "start" });
  await page.tab("b.txt", ({ dirty }) => dirty);
  await page.openFile("src/a.txt");
  fs.rmSync(path.join(workspace, "src/b.txt"));
  await clickLink(page, "src/b.txt");
  await page.editorLines((lines) => lines.join("|") === "unsaved");
  await page.runCommand("File: Revert File");
});
