// A model's server that is overloaded: the status bar counts down to the next try, and a stop ends the waiting.

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { runTask, useAgent } from "./agent.mjs";

const body = JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
const overloaded = http.createServer((_, response) => response.writeHead(529, { "content-type": "application/json", "retry-after": "50" }).end(body));
overloaded.listen(0, "127.0.0.1").unref();
await once(overloaded, "listening");
const editorTest = useAgent([], { settings: { "fairlead.replay": "", "fairlead.baseUrl": `http://127.0.0.1:${overloaded.address().port}` }, workspace: { "a.txt": "a\n" } });

editorTest("the status bar counts down", async ({ page }) => {
  await runTask(page, "Say something");
  const seconds = async () => Number(/asks again in (\d+) s/.exec((await page.statusItem("fairlead.status")).text)?.[1] ?? NaN);
  await page.until("a countdown", async () => (await seconds()) <= 50);
  const first = await seconds();
  await page.until("fewer seconds", async () => (await seconds()) < first);
});

editorTest("a stop ends the waiting", async ({ page }) => {
  await page.runCommand("Agent: Stop");
  await page.until("the end of the run", async () => (await page.statusItem("fairlead.status")).icons.includes("codicon-checklist"));
  assert.doesNotMatch((await page.statusItem("fairlead.status")).text, /asks again/);
});
