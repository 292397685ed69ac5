// The page that a browser comes back to, and where sign-ins are saved.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { SecretStorage } from "vscode";
import { openCallbackPage } from "../src/server/callbackPage";
import { TOOL_SERVER_SECRETS, ToolServerSecrets } from "../src/server/toolServerSecrets";

/** A secret storage in memory, which answers later. */
function storage(): Pick<SecretStorage, "get" | "store"> {
  const values = new Map<string, string>();
  return {
    get: async (key: string) => Promise.resolve(values.get(key)),
    store: async (key: string, value: string) => {
      await Promise.resolve();
      values.set(key, value);
    },
  };
}

test("the page takes only its own address, and passes on the query as it is", async () => {
  const page = await openCallbackPage("Done");
  try {
    assert.match(page.url, /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    assert.equal((await fetch(page.url.replace("callback", "other"))).status, 404);
    assert.equal((await fetch(page.url, { method: "POST" })).status, 404);
    const response = await fetch(`${page.url}?code=a%26b&state=c`);
    assert.equal(await response.text(), "Done");
    assert.equal(response.headers.get("referrer-policy"), "no-referrer");
    assert.equal(await page.asked, `${page.url}?code=a%26b&state=c`);
  } finally {
    page.close();
  }
});

test("sign-ins that change at the same time are all saved", async () => {
  const secrets = new ToolServerSecrets(storage());
  await Promise.all([
    secrets.save({ key: "a", value: "1" }),
    secrets.save({ key: "b", value: "2" }),
    secrets.save({ key: "a", value: null }),
  ]);
  assert.deepEqual(await secrets.read(), { b: "2" });
});

test("a window knows what another one has changed", async () => {
  const shared = storage();
  const [one, other] = [new ToolServerSecrets(shared), new ToolServerSecrets(shared)];
  await one.save({ key: "a", value: "1" });
  assert.equal(await one.isChangedElsewhere(), false);
  assert.equal(await other.isChangedElsewhere(), true);
  await shared.store(TOOL_SERVER_SECRETS, "{}");
  assert.equal(await one.isChangedElsewhere(), true);
});
