// Hooks in a real VS Code: the user allows a formatter, reviews what it changed, is stopped by a hook before an accept, and
// sees all hooks on a page.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { conversationSays, edit, picture, useAgent } from "./agent.mjs";

const FORMAT = "sed -i 's/( )/()/' greet.py";
const SIGN = "grep -q '^# checked' greet.py || sed -i '1i # checked' greet.py";
const editorTest = useAgent([{ calls: [edit("greet.py", "Hello", "Good day")] }, { text: "It is polite now." }], {
  workspace: {
    "greet.py": "def greet( ):\n    return 'Hello'\n",
    ".claude/settings.json": JSON.stringify({
      hooks: {
        PostToolUse: [{ matcher: "Edit|Write", hooks: [{ type: "command", command: FORMAT }] }],
        Stop: [{ hooks: [{ type: "prompt", prompt: "Is it done?" }] }],
      },
    }),
    ".fairlead/hooks.json": JSON.stringify({ hooks: { BeforeAccept: [{ hooks: [{ command: SIGN }] }] } }),
  },
  viewport: { width: 1280, height: 1000 },
});

editorTest("a formatter asks once, and its change is part of the proposal", async ({ page, workspace }) => {
  await page.runCommand("Agent: Show Conversation");
  const prompt = page.webview().locator("textarea");
  await prompt.fill("Be polite.");
  await prompt.press("Enter");
  await page.webview().locator(".card .title", { hasText: "Allow this hook, now and later?" }).waitFor();
  await conversationSays(page, [FORMAT, "The workspace's .claude/settings.json defines this hook, line 1."]);
  await picture(page, "hooks-approval");
  await page.webview().locator(".card button", { hasText: "Allow" }).first().click();
  await conversationSays(page, [
    `Hook PostToolUse: ${FORMAT}`,
    "Proposed for review: greet.py (+1 -1).",
    "It is polite now.",
  ]);
  await picture(page, "hooks-conversation");
  assert.match(fs.readFileSync(path.join(workspace, "greet.py"), "utf8"), /greet\( \)/);
});

editorTest("what a hook changes before an accept is reviewed first", async ({ page, workspace }) => {
  const text = () => fs.readFileSync(path.join(workspace, "greet.py"), "utf8");
  await page.runCommand("Agent: Accept All");
  await page.webview().locator(".card .title", { hasText: "Allow this hook, now and later?" }).waitFor();
  await page.webview().locator(".card button", { hasText: "Allow" }).first().click();
  await page.toast("A hook changed what is proposed (greet.py). Review it, then accept again.");
  assert.match(text(), /greet\( \)/);
  await picture(page, "hooks-accept");
  await page.runCommand("Agent: Accept All");
  await page.until("the accepted text", () => text() === "# checked\ndef greet():\n    return 'Good day'\n");
});

editorTest("/hooks shows all of them", async ({ page }) => {
  const prompt = page.webview().locator("textarea");
  await prompt.fill("/hooks ");
  await prompt.press("Enter");
  await page.until("the page", async () => (await page.tabs()).some(({ label }) => label.includes("Hooks.md")));
  const preview = page.webview();
  await preview.locator("h2", { hasText: "Hooks of this workspace" }).waitFor();
  await preview.locator("li", { hasText: "You have allowed it." }).first().waitFor();
  await preview.locator("li", { hasText: "its type is not command but prompt" }).waitFor();
  await picture(page, "hooks-page");
});
