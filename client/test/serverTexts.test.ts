import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { config } from "@vscode/l10n";

test("the server's titles are shown in the user's language", async () => {
  config({ contents: readFileSync("l10n/bundle.l10n.zh-cn.json", "utf8") });
  const { recordText, titleText, withTranslations } = await import("../src/state/serverTexts");
  const title = (prefix: string): string =>
    titleText({ prefix, template: "Accept Rename to {0}", arguments: ["shop/money.py"] });
  assert.match(title(""), /^\p{Script=Han}.* shop\/money\.py$/u);
  const recordTexts = [
    { prefix: "", template: "{0} of {1} steps", arguments: ["2", "3"] },
    { prefix: ", $0.04 (", template: "{0} tokens", arguments: ["900"] },
    { prefix: ").", template: "", arguments: [] },
  ];
  assert.equal(
    recordText({ record: "2 of 3 steps, $0.04 (900 tokens).", recordTexts }),
    "2/3 个步骤, $0.04 (900 个词元).",
  );
  const overloaded = {
    message: "The model is overloaded. (529)",
    texts: [
      { prefix: "", template: "The model is overloaded.", arguments: [] },
      { prefix: " (529)", template: "", arguments: [] },
    ],
  };
  const ended = { ...overloaded, stopReason: "error", error: overloaded };
  assert.equal(withTranslations(ended).message, "模型过载。 (529)");
  assert.equal(withTranslations(ended).error.message, "模型过载。 (529)");
  assert.equal(withTranslations({ outcomes: [overloaded] }).outcomes[0]?.message, "模型过载。 (529)");
  assert.equal(title("Fairlead (Fix (all): it): "), `Fairlead (Fix (all): it): ${title("")}`);
});
