import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CLIENT_SETTINGS, SERVER_SETTINGS } from "../src/server/settingNames";

interface Setting {
  readonly scope?: string;
}

const { contributes } = JSON.parse(readFileSync("package.json", "utf8")) as {
  contributes: { configuration: readonly { properties: Readonly<Record<string, Setting>> }[] };
};
const settings = Object.fromEntries(contributes.configuration.flatMap(({ properties }) => Object.entries(properties)));

test("each setting of the manifest reaches the server, or is the client's own", () => {
  const declared = Object.keys(settings).map((name) => name.replace(/^fairlead\./, ""));
  assert.deepEqual([...SERVER_SETTINGS, ...CLIENT_SETTINGS].sort(), declared.sort());
});

test("VS Code offers no setting for single folders, because the settings are read for the window", () => {
  const offered = Object.entries(settings).filter(([, { scope }]) => scope === undefined || scope === "resource");
  assert.deepEqual(offered, []);
});
