// What is missing or forbidden is said once and clearly, with what to do next.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openAgent, recording, runTask } from "./agent.mjs";
import { closeBrowser } from "./host/page.mjs";

after(closeBrowser);

async function inEditor(options, body) {
  const editor = await openAgent(options);
  try {
    await body(editor);
  } finally {
    await editor.close();
  }
}

test("no key: one message that says how to set one, with the button for it", async () => {
  await inEditor({ name: "no-key", workspace: { a: "" }, settings: {} }, async ({ page }) => {
    await runTask(page, "Anything");
    const told = await page.toast("No API key.");
    assert.deepEqual(told.buttons, ["Set API Key"]);
    await page.toastButton("No API key.", "Set API Key");
    await page.fillInput("sk-test", { title: "Agent: Set API Key" });
    await page.toast("The API key is set.");
  });
});

test("no folder open: the message says so and offers to open one", async () => {
  await inEditor({ name: "no-folder", workspace: null, settings: {} }, async ({ page }) => {
    await page.runCommand("Agent: Run Task");
    const told = await page.toast("No folder is open");
    assert.deepEqual(told.buttons, ["Open Folder"]);
  });
});

test("an untrusted workspace gets no run; trusting it is enough", async () => {
  const settings = { "fairlead.replay": recording({ text: "It works now." }) };
  await inEditor({ name: "untrusted", workspace: { a: "" }, settings, trust: "restricted" }, async ({ page }) => {
    await runTask(page, "Anything");
    await page.toast("This workspace is not trusted");
    await page.trustWorkspace();
    await runTask(page, "Anything");
    await page.toast("It works now.");
  });
});
