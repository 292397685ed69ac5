import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { config } from "@vscode/l10n";

test("the server's titles are shown in the user's language", async () => {
  config({ contents: readFileSync("l10n/bundle.l10n.zh-cn.json", "utf8") });
  const { titleText } = await import("../src/ui/serverTexts");
  const title = (prefix: string): string =>
    titleText({ prefix, template: "Accept Rename to {0}", arguments: ["shop/money.py"] });
  assert.match(title(""), /^\p{Script=Han}.* shop\/money\.py$/u);
  assert.equal(title("Fairlead (Fix (all): it): "), `Fairlead (Fix (all): it): ${title("")}`);
});
