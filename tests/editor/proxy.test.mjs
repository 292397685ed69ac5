// A proxy that only VS Code's settings name.

import assert from "node:assert/strict";
import { modelServer, runTask, useAgent } from "./agent.mjs";

const asked = [];
// this server is the proxy: it answers the requests itself, in place of the model's server
const proxy = await modelServer({ text: "Through the proxy.", refusal: (request) => void asked.push(request.url) });
const VARIABLES = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"];
const without = Object.fromEntries(
  VARIABLES.flatMap((name) => [name, name.toUpperCase()]).map((name) => [name, undefined]),
);
const editorTest = useAgent([], {
  settings: { "fairlead.replay": "", "fairlead.baseUrl": "http://model.example.com", "http.proxy": proxy },
  workspace: { "a.txt": "a\n" },
  env: { ...without, ANTHROPIC_AUTH_TOKEN: undefined, ANTHROPIC_BASE_URL: undefined },
  own: true,
});

editorTest("the model is asked through the proxy of VS Code's settings", async ({ page }) => {
  await runTask(page, "Say something");
  await page.toast("Through the proxy.");
  assert.ok(asked.includes("http://model.example.com/v1/messages"), asked.join("\n"));
});
