// If the model's server is overloaded, the status bar counts down to the next attempt, and a stop ends the wait. The
// status bar also shows the cost of an answer.

import assert from "node:assert/strict";
import { conversationSays, followUp, modelServer, picture, runTask, useAgent } from "./agent.mjs";
import { closeConversation } from "./shared.mjs";

const BUSY = {
  status: 529,
  headers: { "retry-after": "50" },
  error: { type: "overloaded_error", message: "Overloaded" },
};
const LINK = "[the settings](command:workbench.action.openSettings)";
let refusal = BUSY;
const url = await modelServer({
  text: "It is well.",
  usage: { input_tokens: 150_000, output_tokens: 1000 },
  refusal: () => refusal,
});
const editorTest = useAgent([], {
  settings: { "fairlead.replay": "", "fairlead.baseUrl": url },
  workspace: { "a.txt": "a\n" },
  own: true,
});

editorTest("the status bar counts down, and so does the Plan, which says why", async ({ page }) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Say something");
  const seconds = async () =>
    Number(/retrying in (\d+) s/.exec((await page.statusItem("fairlead.status")).text)?.[1] ?? NaN);
  await page.until("a countdown", async () => (await seconds()) <= 50);
  const first = await seconds();
  await picture(page, "retry");
  await page.until("fewer seconds", async () => (await seconds()) < first);
  const why = /^The model is overloaded\. \(529: Overloaded\) Trying again in (\d+) s\.$/;
  const inPlan = async () => Number(why.exec(await page.viewMessage("Plan"))?.[1] ?? NaN);
  const shown = await page.until("the countdown in the Plan", inPlan);
  await page.until("fewer seconds in the Plan", async () => (await inPlan()) < shown);
});

editorTest("while it waits, another model can be chosen in the Plan and in the conversation", async ({ page }) => {
  const [row] = await page.rows("Plan", (rows) => rows[0]?.label === "Choose Model");
  await page.runCommand("Agent: Show Conversation");
  await conversationSays(page, ["The model has not answered yet.", "Choose Model", "Stop"]);
  await picture(page, "retry-card");
  await closeConversation(page);
  await page.clickRow("Plan", row.index);
  await page.quickInput("Agent: Choose Model");
  await page.press("Escape");
  assert.equal((await page.rows("Plan"))[0].label, "Choose Model");
});

editorTest("a stop ends the wait", async ({ page }) => {
  await page.runCommand("Agent: Stop");
  await page.until("the end of the run", async () =>
    (await page.statusItem("fairlead.status")).icons.includes("codicon-checklist"),
  );
  assert.doesNotMatch((await page.statusItem("fairlead.status")).text, /retrying/);
});

editorTest("the status bar shows the cost, and then how full the model's context window is", async ({ page }) => {
  refusal = undefined;
  await followUp(page, "And now?");
  await page.toast("It is well.");
  const { text, label } = await page.statusItem("fairlead.status", (item) => item.text.includes("$"));
  assert.match(text, /Agent · \$0\.31 · 151k/);
  assert.match(label, /151,000 tokens, 76% of the model's context window/);
  await picture(page, "cost");
});

editorTest("what the model's server says has no links that work", async ({ page }) => {
  refusal = { status: 400, headers: {}, error: { type: "invalid_request_error", message: `See ${LINK}.` } };
  await followUp(page, "Once more");
  await page.toast(`See ${LINK.replace("](", "] (")}.`);
  assert.equal(await page.page.locator(".notification-list-item-message a").count(), 0);
  await picture(page, "no-link");
});
