// The proposed changes of two sessions, checked together, in a real VS Code: what fails together is named and opened.

import assert from "node:assert/strict";
import { bash, edit, followUp, picture, plan, runTask, useAgent } from "./agent.mjs";

const CHECK = `python3 -B -c "from a import x; from b import y; assert x + y < 4"`;
const CHANGES = "Proposed Changes";

// Each session plays the script from its beginning. The first one goes on, and proposes something else.
const editorTest = useAgent(
  [
    { calls: [plan(["Raise a value", "in_progress"]), bash("true"), edit("a.py", "x = 1", "x = 2")] },
    { text: "Raised." },
    { calls: [edit("a.py", "x = 2", "x = 1"), edit("b.py", "y = 1", "y = 2"), edit("b.py", "w = 1", "w = 2")] },
    { text: "The other one." },
  ],
  {
    settings: { "fairlead.checks": [CHECK] },
    workspace: { "a.py": "x = 1\n", "b.py": "y = 1\n\n\n\nw = 1\n" },
  },
);

editorTest(
  "the changes of two sessions that fail together are named, and open for review",
  async ({ page }, context) => {
    await page.showContainer("Fairlead");
    await runTask(page, "Raise y");
    const rows = await page.rows("Plan", (all) =>
      all.some(({ label }) => label.startsWith("Allow") || label === "true"),
    );
    if (rows.some(({ label }) => label.startsWith("Allow"))) return context.skip("there is no sandbox on this machine");
    await page.toast("Raised.");
    await followUp(page, "Raise another one");
    await page.toast("The other one.");
    await runTask(page, "Raise x");
    await page.rows(CHANGES, (all) =>
      ["Raise x", "Raise y"].every((title) => all.some(({ label }) => label === title)),
    );
    await page.toast("“Raise x”: Raised.");
    await page.runCommand("Agent: Check All Sessions Together");
    const said = await page.toast("fails with these 2 changes together", 60_000);
    assert.ok(said.message.includes("a.py, line 1 (“Raise x”)") && said.message.includes("b.py, line 1 (“Raise y”)"));
    await page.toastButton("fails with these 2 changes together", "Show Changes");
    await page.quickInput("Agent: Check All Sessions Together");
    await picture(page, "together");
    await page.pick("b.py, line 1", { title: "Agent: Check All Sessions Together" });
    await page.until("the diff of b.py", async () => (await page.tabs()).some(({ label }) => label.includes("b.py")));
  },
);
