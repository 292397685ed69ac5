import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { config } from "@vscode/l10n";

/** Titles as server/fairlead/lsp/lenses.py, actions.py and review_commands.py write them. */
const TITLES = [
  "Accept",
  "Reject",
  "Preview",
  "Open Diff",
  "Accept +3 −2",
  "Accept New File",
  "Accept Deletion",
  "Accept File",
  "Accept Rename to shop/money.py",
  "Accept Proposed (Replace Mine)",
  "Keep Mine",
  "Accept This Change (+1 −1)",
  "Reject This Change",
  "Accept the Change at Line 4 (+1 −1)",
  "Reject the Change at Line 4",
  "Accept Proposed at Line 4 (Replace Mine)",
  "Keep Mine at Line 4",
  "Accept All 2 Changes in This File",
  "Reject All 2 Changes in This File",
  "Restore File with Changes",
  "Keep Deleted",
];

test("the server's titles are shown in the user's language", async () => {
  config({ contents: readFileSync("l10n/bundle.l10n.zh-cn.json", "utf8") });
  const { translateTitle } = await import("../src/server/serverTitles");
  for (const title of TITLES) {
    assert.match(translateTitle(title), /^\p{Script=Han}/u, title);
    for (const prefix of ["Fairlead: ", "Fairlead (Fix (all): it): "])
      assert.equal(translateTitle(prefix + title), prefix + translateTitle(title));
  }
  assert.match(translateTitle("Accept Rename to shop/money.py"), / shop\/money\.py$/);
  assert.equal(translateTitle("A title of another version"), "A title of another version");
});
