// Another program writes a file at the moment when VS Code applies an accept.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { edit, relayed, remove, runTask, useAgent } from "./agent.mjs";

const VIEW = "Proposed Changes";
const NUMBERS = "one\ntwo\nthree\nfour\nfive\nsix\n";
const { extension, writeBeforeEdit } = relayed();

const editorTest = useAgent(
  [
    { calls: [edit("pulled.txt", "five", "FIVE"), edit("same.txt", "five", "FIVE"), remove("kept.txt")] },
    { text: "Proposed." },
  ],
  {
    workspace: { "pulled.txt": NUMBERS, "same.txt": NUMBERS, "kept.txt": NUMBERS },
    settings: { "files.autoGuessEncoding": true }, // so that VS Code, not the server, writes closed files too
    extensions: [extension],
    own: true,
  },
);

editorTest(
  "docs/faults.md 67: text that another program writes just before VS Code applies an accept is merged or a conflict",
  async ({ page, workspace }) => {
    const read = (name) => fs.readFileSync(path.join(workspace, name), "utf8");
    const merged = () => read("pulled.txt") === written["pulled.txt"].replace("five", "FIVE");
    const conflicts = (name) => (rows) => rows.some((row) => row.label === name && row.icon === "warning");
    const written = {
      "pulled.txt": `pulled\n${NUMBERS}`,
      "same.txt": NUMBERS.replace("five", "pulled"),
      "kept.txt": `${NUMBERS}pulled\n`,
    };
    await runTask(page, "Change the files");
    await page.toast("Proposed.");
    for (const [name, text] of Object.entries(written)) {
      writeBeforeEdit({ [path.join(workspace, name)]: text });
      await page.rowAction(VIEW, name, "Accept");
      if (name === "pulled.txt") await page.until("the edit on disk", merged);
      else await page.rows(VIEW, conflicts(name));
    }
    assert.equal(read("same.txt"), written["same.txt"]);
    assert.equal(read("kept.txt"), written["kept.txt"]);
  },
);
