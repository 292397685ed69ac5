// A race of two models in a real VS Code: both do the task at the same time, and the user reviews the better one.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { listingServer, openAgent, picture } from "./agent.mjs";
import { test } from "./host/registry.mjs";

const TITLE = "Agent: Race";
const CHECK = "grep -q 'x = 2' a.py";
const TEXTS = { careful: "x = 2\n", hasty: "x = 3\n" };

test("two models race, and the user reviews the one whose changes pass", async (context) => {
  const { url } = await listingServer({
    models: Object.keys(TEXTS).map((id) => ({ id })),
    callOf: (model) => ({ name: "write_file", input: { path: "a.py", content: TEXTS[model] } }),
  });
  const settings = {
    "fairlead.endpoints": { own: { baseUrl: url, api: "chat" } },
    "fairlead.endpoint": "own",
    "fairlead.model": "hasty",
    "fairlead.checks": [CHECK],
  };
  const editor = await openAgent({ name: "race", workspace: { "a.py": "x = 1\n" }, settings });
  try {
    const { page, workspace } = editor;
    await page.showContainer("Fairlead");
    await page.runCommand("Agent: Race...");
    await page.fillInput("Raise x", { title: TITLE });
    await page.until("both models", async () => {
      const labels = (await page.quickInput(TITLE)).items.map(({ label }) => label);
      return labels.includes("careful") && labels.includes("hasty");
    });
    await picture(page, "race-models");
    for (const [index, model] of Object.keys(TEXTS).entries()) {
      const row = page.page.locator(".quick-input-list .monaco-list-row", { hasText: model }).first();
      const isChosen = async () =>
        (await page.page.locator(".quick-input-count").first().innerText()).startsWith(`${index + 1} `);
      await page.until(`${model} chosen`, async () => {
        if (!(await isChosen())) await row.click({ timeout: 1000 });
        return isChosen();
      });
    }
    await page.press("Enter");
    const said = await page.toast("The race has ended.", 60_000);
    if (said.message.includes("No run succeeded") || said.message.includes("unverified"))
      return context.skip("there is no sandbox on this machine");
    assert.match(said.message, /First: careful: Raise x\. The first run is proved; the second one failed\./);
    await page.toastButton("The race has ended.", "Show Ranking");
    await page.quickInput(TITLE);
    await picture(page, "race");
    const { items } = await page.quickInput(TITLE);
    assert.deepEqual(
      items.map(({ label }) => label),
      ["1. careful: Raise x", "2. hasty: Raise x"],
    );
    await page.pick(items[0].label, { title: TITLE });
    await page.until("the diff", async () =>
      (await page.tabs()).some(({ label }) => label.startsWith("Proposed: careful: Raise x")),
    );
    await page.toastButton("The other runs of the race", "Delete the Other");
    assert.equal((await page.dialog()).message, "Delete 1 session?");
    await page.pressDialog("Delete");
    await page.rows(
      "Proposed Changes",
      (rows) => rows.length > 0 && rows.every(({ label }) => !label.includes("hasty") && !label.includes("careful")),
    );
    assert.equal(fs.readFileSync(path.join(workspace, "a.py"), "utf8"), "x = 1\n");
  } finally {
    await editor.close();
  }
});
