// A missing key and an untrusted workspace.

import assert from "node:assert/strict";
import { followUp, modelServer, openAgent, picture, recording, runTask } from "./agent.mjs";
import { test } from "./host/registry.mjs";

async function inEditor(options, body) {
  const editor = await openAgent(options);
  try {
    await body(editor);
  } finally {
    await editor.close();
  }
}

test("without a key the user is asked how to reach a model, and then the typed task runs", async () => {
  const keys = [];
  let isRefused = false;
  const refusal = ({ headers }) => {
    keys.push(headers.authorization);
    return (
      (isRefused || keys.at(-1) !== "Bearer sk-good") && {
        status: 401,
        error: { type: "authentication_error", message: "No." },
      }
    );
  };
  const url = await modelServer({ text: "It is well.", refusal });
  await inEditor({ name: "no-key", workspace: { a: "" }, settings: {} }, async ({ page }) => {
    await runTask(page, "Anything");
    const { items } = await page.quickInput("Agent: Set Up Model");
    const offered = items.map(({ label }) => label);
    for (const label of [
      "Anthropic",
      "OpenAI",
      "OpenRouter",
      "Local Server...",
      "Another Address...",
      "Amazon Bedrock",
    ])
      assert.ok(offered.includes(label), label);
    await picture(page, "no-key");
    await page.press("Escape");
    await page.runCommand("Agent: Run Task");
    assert.equal((await page.quickInput("Agent: Run Task")).value, "Anything");
    await page.press("Enter");
    await page.pick("Another Address...", { title: "Agent: Set Up Model" });
    await page.until("the question for the address", async () =>
      (await page.quickInput()).message.startsWith("The server's base URL."),
    );
    await page.fillInput(url, { title: "Agent: Set Up Model" });
    await page.fillInput("sk-bad", { title: "Agent: Set API Key" });
    await page.until("the question for another key", async () =>
      (await page.quickInput()).message.startsWith("The API key was refused."),
    );
    await page.fillInput("sk-good", { title: "Agent: Set API Key" });
    await page.until("the question for the model's name", async () =>
      (await page.quickInput()).message.includes("The model's name"),
    );
    await page.fillInput("small");
    await page.toast("It is well.");
    // the server refuses the key later
    isRefused = true;
    await followUp(page, "And now?");
    const told = await page.toast("The API key was refused");
    assert.deepEqual(told.buttons, ["Set API Key", "Choose Model", "Show Conversation"]);
    isRefused = false;
    await page.closeToast("The API key was refused");
    await page.clickRow("Plan", "Set API Key");
    await page.fillInput("sk-good", { title: "Agent: Set API Key" });
    await page.toast("It is well.");
  });
});

test("an untrusted workspace: the message opens the trust editor, and a task runs after that", async () => {
  const settings = { "fairlead.replay": recording({ text: "It works now." }) };
  await inEditor({ name: "untrusted", workspace: { a: "" }, settings, trust: "restricted" }, async ({ page }) => {
    await page.runCommand("Agent: Run Task");
    assert.deepEqual((await page.toast("only in a workspace that you trust")).buttons, ["Manage Trust"]);
    await page.toastButton("only in a workspace that you trust", "Manage Trust");
    await page.trustWorkspace();
    await runTask(page, "Anything");
    await page.toast("It works now.");
  });
});
