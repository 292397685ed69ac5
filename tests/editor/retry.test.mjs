// A model's server that is overloaded: the status bar counts down to the next try, and a stop ends the waiting. What an
// answer cost stands there too.

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { followUp, picture, runTask, useAgent } from "./agent.mjs";

const body = JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
const answer = [
  { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-5-5", content: [], usage: { input_tokens: 150_000, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "It is well." } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 1000 } },
  { type: "message_stop" },
].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
let busy = true;
const server = http.createServer((_, response) => {
  if (busy) response.writeHead(529, { "content-type": "application/json", "retry-after": "50" }).end(body);
  else response.writeHead(200, { "content-type": "text/event-stream" }).end(answer.join(""));
});
server.listen(0, "127.0.0.1").unref();
await once(server, "listening");
const editorTest = useAgent([], { settings: { "fairlead.replay": "", "fairlead.baseUrl": `http://127.0.0.1:${server.address().port}` }, workspace: { "a.txt": "a\n" } });

editorTest("the status bar counts down", async ({ page }) => {
  await runTask(page, "Say something");
  const seconds = async () => Number(/asks again in (\d+) s/.exec((await page.statusItem("fairlead.status")).text)?.[1] ?? NaN);
  await page.until("a countdown", async () => (await seconds()) <= 50);
  const first = await seconds();
  await picture(page, "retry");
  await page.until("fewer seconds", async () => (await seconds()) < first);
});

editorTest("a stop ends the waiting", async ({ page }) => {
  await page.runCommand("Agent: Stop");
  await page.until("the end of the run", async () => (await page.statusItem("fairlead.status")).icons.includes("codicon-checklist"));
  assert.doesNotMatch((await page.statusItem("fairlead.status")).text, /asks again/);
});

editorTest("what it cost stands in the status bar, and how full the model's window is behind it", async ({ page }) => {
  busy = false;
  await followUp(page, "And now?");
  await page.toast("It is well.");
  const { text, label } = await page.statusItem("fairlead.status", (item) => item.text.includes("$"));
  assert.match(text, /Agent · \$0\.31 · 151k/);
  assert.match(label, /151,000 tokens, 76 % of the model's window/);
  await picture(page, "cost");
});
