// A terminal of the user in the sandbox: the files stay as they are, and what changed there is reviewed.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { picture, useAgent } from "./agent.mjs";

const VIEW = "Proposed Changes";
const editorTest = useAgent([], { workspace: { "a.txt": "one\n" }, settings: {} });
const textOf = (workspace) => fs.readFileSync(path.join(workspace, "a.txt"), "utf8");
const screen = (page) => page.page.locator(".terminal-wrapper.active .xterm-rows").last();
const shows = (page, pattern) =>
  page.until(`a terminal with ${pattern}`, async () => {
    const text = await screen(page)
      .innerText()
      .catch(() => "");
    return pattern.test(text.replaceAll("\u00a0", " "));
  });
const type = async (page, line) => {
  await page.page.locator(".terminal-wrapper.active .xterm-helper-textarea").last().focus();
  await page.page.keyboard.type(line);
  await page.page.keyboard.press("Enter");
};

editorTest(
  "what is written in a terminal in the sandbox is proposed when the shell exits",
  async ({ page, workspace }) => {
    await page.showContainer("Fairlead");
    await page.runCommand("Agent: Open Terminal in the Sandbox");
    await shows(page, /In the sandbox/);
    await type(page, "echo two >> a.txt; echo the file has $(wc -l < a.txt) lines");
    await shows(page, /the file has 2 lines/);
    assert.equal(textOf(workspace), "one\n");
    await picture(page, "box-terminal");
    await type(page, "exit");
    await page.rows(VIEW, (rows) => rows.some(({ label }) => label === "a.txt"));
    assert.equal(textOf(workspace), "one\n");
    await page.rowAction(VIEW, "a.txt", "Accept");
    await page.until("the accepted file", () => textOf(workspace) === "one\ntwo\n");
  },
);

editorTest(
  "closing the terminal loses nothing, and one without changes leaves no session",
  async ({ page, workspace }) => {
    await page.runCommand("Agent: Open Terminal in the Sandbox");
    await shows(page, /In the sandbox/);
    await type(page, "echo nothing $((40 + 2))");
    await shows(page, /nothing 42/);
    await type(page, "exit");
    await page.until("no terminal", async () => (await page.page.locator(".terminal-wrapper.active").count()) === 0);
    await page.runCommand("Fairlead: Focus on Sessions View");
    await page.rows("Sessions", (rows) => rows.filter(({ label }) => label === "Terminal in the sandbox").length === 1);
    await page.runCommand("Agent: Open Terminal in the Sandbox");
    await shows(page, /In the sandbox/);
    await type(page, "echo three >> a.txt; echo written $((40 + 3))");
    await shows(page, /written 43/);
    await page.runCommand("Terminal: Kill the Active Terminal Instance");
    await page.rows(VIEW, (rows) => rows.some(({ label }) => label === "a.txt"));
    assert.equal(textOf(workspace), "one\ntwo\n");
  },
);
