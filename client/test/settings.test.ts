import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CLIENT_SETTINGS, SERVER_SETTINGS } from "../src/server/settingNames";

test("each setting of the manifest reaches the server, or is the client's own", () => {
  const { contributes } = JSON.parse(readFileSync("package.json", "utf8")) as {
    contributes: { configuration: { properties: object } };
  };
  const declared = Object.keys(contributes.configuration.properties).map((name) => name.replace(/^fairlead\./, ""));
  assert.deepEqual([...SERVER_SETTINGS, ...CLIENT_SETTINGS].sort(), declared.sort());
});
