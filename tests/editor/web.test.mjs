// A page of the web in a real VS Code: the question, a rule for its host, and what is shown of it.

import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { conversationSays, followUp, picture, runTask, useAgent } from "./agent.mjs";

const PAGE = '<title>Hello</title><main><p>Say hello.</p><p hidden>Say bye.</p><p><a href="/b">More</a></p></main>';
const asked = [];
const server = http.createServer((request, response) => {
  asked.push(request.url);
  response.writeHead(200, { "content-type": "text/html" }).end(PAGE);
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
server.unref();
const host = `localhost:${server.address().port}`;
const editorTest = useAgent(
  [
    { calls: [{ fetch: { url: `http://${host}/a` } }] },
    { text: "I have read it." },
    { calls: [{ fetch: { url: `http://${host}/b` } }] },
    { text: "I have read more." },
  ],
  { settings: { "fairlead.web.privateHosts": [host] }, own: true },
);

editorTest("a page asks with its address, and its host can be allowed for good", async ({ page, code }) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Read it");
  const { buttons } = await page.toast(`Fetch “http://${host}/a” from ${host}?`);
  assert.deepEqual(buttons, ["Allow Once", "Reject", "More..."]);
  await page.runCommand("Agent: Show Conversation");
  await conversationSays(page, [`Fetch a page from ${host}?`, `http://${host}/a`]);
  await picture(page, "web-question");
  assert.deepEqual(asked, []);
  await page.webview().locator(".card button", { hasText: "Always Allow..." }).click();
  const title = "Agent: Always Allow";
  await page.until("the rule", async () => (await page.quickInput(title)).value === host);
  await page.fillInput("example.com", { title, accept: false });
  await page.until("the problem", async () => (await page.quickInput()).message.includes("does not match"));
  await page.fillInput(host, { title });
  await conversationSays(page, [`Fetch ${host}/a`, "I have read it."]);
  const settings = JSON.parse(fs.readFileSync(path.join(code.userDataDir, "User", "settings.json"), "utf8"));
  assert.deepEqual(settings["fairlead.web.allow"], [host]);
  assert.deepEqual(asked, ["/a"]);
});

editorTest("an allowed host does not ask; a call unfolds to the text of the page, without links", async ({ page }) => {
  await followUp(page, "Read more");
  await conversationSays(page, [`Fetch ${host}/b`, "I have read more."]);
  await page
    .webview()
    .locator("summary", { hasText: `Fetch ${host}/b` })
    .click();
  await conversationSays(page, ["Title: Hello", "Say hello.", `[More](http://${host}/b)`]);
  assert.equal(await page.webview().locator("a", { hasText: "More" }).count(), 0);
  assert.deepEqual(asked, ["/a", "/b"]);
  await picture(page, "web-page");
});
