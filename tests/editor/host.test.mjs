// The browser in which the tests run VS Code (scripts/vscode/browser.mjs).

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { startBrowser } from "../../scripts/vscode/browser.mjs";
import { test } from "./host/registry.mjs";

test("the browser reaches no other machine, not even through a proxy", async (context) => {
  const asked = [];
  const proxy = http.createServer((request, response) => {
    asked.push(request.url);
    response.end();
  });
  context.after(() => proxy.close());
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const { http_proxy, HTTP_PROXY } = process.env;
  const address = `http://127.0.0.1:${proxy.address().port}`;
  Object.assign(process.env, { http_proxy: address, HTTP_PROXY: address });
  const started = await startBrowser().finally(() => {
    for (const [name, value] of Object.entries({ http_proxy, HTTP_PROXY }))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  });
  context.after(() => started.stop());
  const page = await started.browser.newPage();
  await assert.rejects(page.goto("http://example.com/"), /ERR_NAME_NOT_RESOLVED/);
  assert.deepEqual(asked, []);
});
