// Commands with the default settings: they run on the proposed files without asking, and the user reviews what they change.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { bash, edit, plan, runTask, useAgent } from "./agent.mjs";

const command = "cat a.txt; echo made > made.txt; printf 'P\\0' > logo.bin; chmod +x run.sh; echo out > notes.log";
const editorTest = useAgent(
  [
    { calls: [plan(["Change it", "in_progress", "Changing it"]), edit("a.txt", "one", "ONE"), bash(command)] },
    { text: "All is changed." },
  ],
  { workspace: { "a.txt": "one\n", "run.sh": "ls\n", ".gitignore": "*.log\n" } },
);
const files = (workspace) => fs.readdirSync(workspace).sort();
let sandboxed = true; // without a sandbox, the command needs an approval

editorTest(
  "a command sees the agent's edits, and its own changes are listed for review",
  async ({ page, workspace }, context) => {
    await runTask(page, "Change it");
    const steps = await page.rows("Plan", (all) =>
      all.some(({ label }) => label.startsWith("Allow") || label.includes("cat a.txt")),
    );
    sandboxed = !steps.some(({ label }) => label.startsWith("Allow"));
    if (!sandboxed) return context.skip("there is no sandbox on this machine");
    const rows = await page.rows("Proposed Changes", (all) => all.filter(({ level }) => level === 1).length === 4);
    const described = rows
      .filter(({ level }) => level === 1)
      .map(({ label, description }) => `${label} | ${description}`);
    assert.deepEqual(described, [
      "a.txt | +1 −1",
      "logo.bin | new · binary",
      "made.txt | new · +1 −0",
      "run.sh | executable · +0 −0",
    ]);
    await page.toast("All is changed.");
    assert.deepEqual(files(workspace), [".gitignore", "a.txt", "run.sh"]);
    assert.equal(fs.readFileSync(path.join(workspace, "a.txt"), "utf8"), "one\n");
  },
);

editorTest(
  "the diff of a binary file says that it is binary, and all changes are accepted together",
  async ({ page, workspace }, context) => {
    if (!sandboxed) return context.skip();
    await page.clickRow("Proposed Changes", "logo.bin");
    await page.diffLines("modified", {
      wanted: (lines) => lines.some((line) => line.includes("binary file, 2 bytes")),
    });
    await page.runCommand("Agent: Accept All");
    await page.rows("Proposed Changes", (all) => all.length === 0);
    assert.deepEqual(files(workspace), [".gitignore", "a.txt", "logo.bin", "made.txt", "run.sh"]);
    assert.equal(fs.readFileSync(path.join(workspace, "logo.bin"), "latin1"), "P\0");
    assert.ok(fs.statSync(path.join(workspace, "run.sh")).mode & 0o100);
  },
);

editorTest("an undo removes the new files and reverts the permissions", async ({ page, workspace }, context) => {
  if (!sandboxed) return context.skip();
  await page.runCommand("Agent: Undo Review");
  await page.rows("Proposed Changes", (all) => all.filter(({ level }) => level === 1).length === 4);
  await page.until("the files as they were", () => files(workspace).length === 3);
  assert.equal(fs.statSync(path.join(workspace, "run.sh")).mode & 0o100, 0);
});
