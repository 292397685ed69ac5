// The first minute in a window without a folder: what a task needs, the test of a model, and the example without a key.

import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { conversationSays, followUp, listingServer, modelServer, openAgent, picture } from "./agent.mjs";
import { useEditor } from "./host/editor.mjs";

const editorTest = useEditor(() =>
  openAgent({ name: "first-steps", workspace: null, settings: { "fairlead.openConversation": true } }),
);
const END = "hello.py now has type hints";
const step = (page, title) => page.page.locator(".step-title", { hasText: title }).first();
const click = (page, what, locator) =>
  page.until(what, async () => {
    await locator.click({ timeout: 1000 });
    return true;
  });
const button = (page, name) =>
  page.page.locator(".step-description-container a.monaco-button", { hasText: name }).last();

/** Waits for the box for the address. The list that was open before has the same title. */
const addressAsked = (page) =>
  // the tests run VS Code in a browser, so its window is a remote one
  page.until("the question for the address", async () =>
    (await page.quickInput()).message.startsWith("The server's base URL. “localhost” is the remote machine"),
  );

editorTest("no folder open: the message says so and offers to open one", async ({ page }) => {
  await page.runCommand("Agent: Run Task");
  const told = await page.toast("No folder is open");
  assert.deepEqual(told.buttons, ["Open Folder"]);
  await page.closeToast("No folder is open");
});

editorTest("a model is set up from the walkthrough, and tested by a small request", async ({ page }) => {
  let isReady = false;
  const keys = new Set();
  const refusal = ({ headers }) => {
    keys.add(headers["x-api-key"]);
    return !isReady && { status: 404, error: { type: "not_found_error", message: "model: small" } };
  };
  const url = await modelServer({ text: "OK", refusal });
  await page.runCommand("Agent: Set API Key");
  await page.fillInput("sk-ant-saved", { title: "Agent: Set API Key" });
  await page.runCommand("Agent: Welcome to Fairlead");
  await click(page, "the step", step(page, "Set up a model"));
  await picture(page, "walkthrough");
  await click(page, "the button", button(page, "Set Up Model"));
  await page.pick("Another Address...", { title: "Agent: Set Up Model" });
  await addressAsked(page);
  await page.fillInput("127.0.0.1:9", { title: "Agent: Set Up Model" });
  await page.until("why it cannot be used", async () => {
    const { message, value } = await page.quickInput();
    return value === "127.0.0.1:9" && /127\.0\.0\.1:9/.test(message);
  });
  await page.fillInput(url, { title: "Agent: Set Up Model" });
  await page.until("the question for the model's name", async () =>
    (await page.quickInput()).message.includes("The model's name"),
  );
  await page.fillInput("small");
  const failed = await page.toast("The model cannot be used.");
  assert.match(failed.message, /small/);
  assert.deepEqual(failed.buttons, ["Choose Again", "Test Again"]);
  isReady = true;
  await page.toastButton("The model cannot be used.", "Test Again");
  await page.toast("small answers.");
  await page.closeToast("small answers.");
  assert.ok(!keys.has("sk-ant-saved"), "the key for Anthropic is not sent to another server");
});

/** A second task in the example: the recording has ended, and a model that is set up takes its place. */
async function anotherTask(page, folder) {
  const { url } = await listingServer({ models: [{ id: "small" }] });
  await followUp(page, "Go on then");
  await conversationSays(page, ["It has only this task.", "The recording has ended.", "Set Up Model"]);
  await picture(page, "example-ended");
  assert.ok(fs.existsSync(path.join(folder, ".fairlead-example")));
  await page.webview().locator(".card button", { hasText: "Set Up Model" }).click();
  await page.pick("Another Address...", { title: "Agent: Set Up Model" });
  await addressAsked(page);
  await page.fillInput(url, { title: "Agent: Set Up Model" });
  await conversationSays(page, ["It is well."]);
  assert.ok(!fs.existsSync(path.join(folder, ".fairlead-example")));
}

editorTest("the example opens in a folder of its own and offers its task, which needs no model", async ({ page }) => {
  const examples = () => fs.readdirSync(os.tmpdir()).filter((name) => name.startsWith("fairlead-example-"));
  const before = examples();
  await click(page, "the step", step(page, "Watch it work"));
  await click(page, "the button", button(page, "Try the Example"));
  await page.until(
    "the example's task",
    async () => (await page.quickInput("Agent: Run Task")).value.startsWith("Refactor hello.py"),
    60_000,
  );
  await page.statusItem("fairlead.model", ({ text }) => text === "recording");
  const [folder] = examples().filter((name) => !before.includes(name));
  await page.press("Enter");
  // the conversation opens, and says what no message has to; this takes a while: the run executes the example's tests
  await conversationSays(page, [END], 60_000);
  assert.deepEqual(await page.toasts(), []);
  await picture(page, "example");
  await anotherTask(page, path.join(os.tmpdir(), folder));
  await page.runCommand("Agent: Accept All");
  const script = path.join(os.tmpdir(), folder, "hello.py");
  await page.until("the accepted text", () => fs.readFileSync(script, "utf8").includes("-> str"));
  fs.rmSync(path.dirname(script), { recursive: true });
});
