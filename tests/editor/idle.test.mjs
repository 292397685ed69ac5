// Verifications that run again while nothing happens, and what a reloaded window says about them.

import fs from "node:fs";
import path from "node:path";
import { edit, picture, plan, runTask, useAgent } from "./agent.mjs";

const PLAN = "Plan";
const CHECK = "grep -q night word.txt";
const editorTest = useAgent(
  [
    { calls: [plan(["Change the word", "in_progress", "", CHECK]), edit("word.txt", "day", "night")] },
    { calls: [plan(["Change the word", "completed", "", CHECK])] },
    { text: "Changed." },
  ],
  {
    settings: { "fairlead.check.idleSeconds": 0.2, "fairlead.check.idleMaxLoad": 100_000 },
    workspace: { "word.txt": "day\n" },
    own: true,
  },
);
const described = (part) => (rows) => rows.some(({ description }) => description.includes(part));

editorTest(
  "a tick that an edit broke names the edit, and holds again after the edit is undone",
  async (editor, context) => {
    const { page, workspace } = editor;
    const file = path.join(workspace, "word.txt");
    await page.showContainer("Fairlead");
    await runTask(page, "Change the word");
    const rows = await page.rows(PLAN, (all) =>
      all.some(({ label, description }) => label.startsWith("Allow") || description.includes("proved")),
    );
    if (rows.some(({ label }) => label.startsWith("Allow"))) return context.skip("there is no sandbox on this machine");
    await page.toast("Changed.");
    await page.runCommand("Agent: Accept All");
    await page.until("the accepted text", () => fs.readFileSync(file, "utf8") === "night\n");
    fs.writeFileSync(file, "noon\n");
    await page.rows(PLAN, described("broken by your own edit in word.txt, line 1"));
    await picture(page, "broken-tick");
    fs.writeFileSync(file, "night\n");
    await page.rows(
      PLAN,
      (all) => !described("broken")(all) && (described("verified")(all) || described("proved")(all)),
    );
  },
);
