// A window with two folders: the agent works in both.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { bash, conversationSays, edit, picture, runTask, useAgent } from "./agent.mjs";

const editorTest = useAgent(
  [
    {
      calls: [edit("api/main.txt", "one", "ONE"), edit("Web UI/main.txt", "one", "WEB"), edit("main.txt", "one", "x")],
    },
    { calls: [bash("cat ../web/main.txt; echo made > ../web/made.txt")] },
    { text: "Both are changed." },
  ],
  {
    workspace: {
      "two.code-workspace": JSON.stringify({ folders: [{ path: "api" }, { path: "web", name: "Web UI" }] }),
      "api/main.txt": "one\n",
      "api/AGENTS.md": "Rules of api.\n",
      "web/main.txt": "one\n",
      "web/AGENTS.md": "Rules of web.\n",
    },
    viewport: { width: 1280, height: 1000 },
    own: true,
  },
);
const read = (workspace, name) => fs.readFileSync(path.join(path.dirname(workspace), name), "utf8");
const files = (rows) =>
  rows.filter(({ level }) => level === 1).map(({ label, description }) => `${label} ${description}`);

editorTest("the agent works in both folders, and its paths name them", async ({ page, workspace }, context) => {
  await runTask(page, 'Change #"Web UI/main.txt"');
  await page.toast("Both are changed.");
  await page.closeToast("Both are changed.");
  await picture(page, "rows");
  await page.runCommand("Agent: Show Conversation in Editor");
  await conversationSays(page, [
    "The agent was told which folders are open.",
    "main.txt does not begin with the name of a folder",
    "Begin each path with one of: api, Web UI",
    "Both are changed.",
  ]);
  await picture(page, "conversation");
  // the output of commands is folded
  const text = await page.webview().locator("body").textContent();
  if (!text.includes("made.txt (+1")) return context.skip("there is no sandbox on this machine");
  const rows = await page.rows("Proposed Changes", (all) => files(all).length === 3);
  assert.deepEqual(
    files(rows).map((row) => row.split(" ")[0]),
    ["main.txt", "main.txt", "made.txt"],
  );
  await page.runCommand("Agent: Accept All");
  await page.rows("Proposed Changes", (all) => all.length === 0);
  assert.deepEqual(
    ["api/main.txt", "web/main.txt", "web/made.txt"].map((name) => read(workspace, name)),
    ["ONE\n", "WEB\n", "made\n"],
  );
});

editorTest("a folder of the workspace that is dropped on the prompt is mentioned by its name", async (editor) => {
  const { page, workspace } = editor;
  const input = page.webview().locator("textarea");
  await input.evaluate(
    (box, list) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.setData("application/vnd.code.uri-list", list);
      box.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer }));
    },
    ["api", "web", "api/main.txt"].map((name) => `file://${path.join(path.dirname(workspace), name)}`).join("\n"),
  );
  await page.until("the mentions", async () => (await input.inputValue()) === '#api #"Web UI" #api/main.txt ');
  await input.fill("");
});
