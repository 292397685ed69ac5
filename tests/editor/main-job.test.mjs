// The main job in a real VS Code: palette, plan, diffs, accept and reject, the bytes on disk.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { bash, conversationSays, edit, plan, runTask, useAgent, write } from "./agent.mjs";

const before = [
  "def greet(name):",
  '    return "Hello, " + name',
  "",
  "",
  "def part(name):",
  '    return "Bye, " + name',
  "",
  "",
  'print(greet("world"))',
  "",
].join("\n");

const editorTest = useAgent(
  [
    {
      thinking: "First the file, then the plan.",
      text: "I make a plan.",
      calls: [
        plan(["Read hello.py", "in_progress", "Reading"], ["Add type hints"], ["Write a note"]),
        { read_file: { path: "hello.py" } },
      ],
    },
    {
      calls: [
        plan(["Read hello.py", "completed"], ["Add type hints", "in_progress", "Adding type hints"], ["Write a note"]),
        edit("hello.py", "def greet(name):", "def greet(name: str) -> str:"),
        edit("hello.py", "def part(name):", "def part(name: str) -> str:"),
        edit("hello.py", 'print(greet("world"))', 'if __name__ == "__main__":\n    print(greet("world"))'),
        edit("hello.py", "not there", "x"),
        write("docs/note ü.md", "# Note\n"),
        bash("echo gate"),
      ],
    },
    { calls: [plan(["Read hello.py", "completed"], ["Add type hints", "completed"], ["Write a note", "completed"])] },
    { text: "All three steps are done." },
    { text: "You are welcome." },
  ],
  { settings: { "fairlead.approvals": "ask" }, workspace: { "hello.py": before } },
);
const disk = (workspace) => fs.readFileSync(path.join(workspace, "hello.py"), "utf8");
const labels = (rows) => rows.map((row) => row.label);

editorTest("before the first task the palette and the view say what to do", async ({ page }) => {
  const offered = [
    "Agent: Add Tool Server...",
    "Agent: Adopt the Sessions of a Renamed Folder...",
    "Agent: Choose Agent...",
    "Agent: Choose Model...",
    "Agent: Open Settings",
    "Agent: Open Terminal in the Sandbox",
    "Agent: Race...",
    "Agent: Run Task",
    "Agent: Run Task (Plan First)...",
    "Agent: Send Question...",
    "Agent: Set API Key",
    "Agent: Set Up Model...",
    "Agent: Show Command Permissions",
    "Agent: Show Conversation",
    "Agent: Show Conversation in Editor",
    "Agent: Show Hooks",
    "Agent: Show Keyboard Shortcuts",
    "Agent: Show Log",
    "Agent: Show Skills",
    "Agent: Show Tool Servers",
    "Agent: Sign In to Agent...",
    "Agent: Sign In to Tool Server...",
    "Agent: Try the Example",
    "Agent: Welcome to Fairlead",
  ].map((title) => `Fairlead ${title}`);
  // the server may run already, because the view was open
  const commands = async () =>
    (await page.commands("Agent")).filter((label) => label !== "Fairlead Agent: Stop and Restart Server");
  await page.setSize({ width: 1280, height: 1400 }); // the palette has more rows in a high window
  await page.until("what the palette offers", async () => isDeepStrictEqual(await commands(), offered));
  await page.setSize({ width: 1280, height: 800 });
  await page.showContainer("Fairlead");
  await page.until("the first words", async () => /Give the agent a task[^]*Run Task/.test(await page.welcome("Plan")));
  assert.match(await page.welcome("Proposed Changes"), /There are no changes to review/);
});

editorTest(
  "the plan shows all three states while the agent works, and nothing is on disk",
  async ({ page, workspace }) => {
    await runTask(page, "Add type hints to hello.py");
    const rows = await page.rows("Plan", (all) => all.length === 6 && all[0].label.startsWith("Allow"));
    const [done, doing, hello, note, open] = rows.slice(1);
    assert.deepEqual(
      [done.label, done.icon, done.name],
      ["Read hello.py", "pass", "Read hello.py, done, only read files"],
    );
    assert.deepEqual([doing.label, doing.icon], ["Add type hints", "question"]);
    assert.equal(doing.description, "waiting for you");
    assert.deepEqual(labels([hello, note]), ["hello.py", "note ü.md"]);
    assert.deepEqual([open.label, open.description, open.icon], ["Write a note", "", "circle-large-outline"]);
    await page.until("the count", async () => (await page.viewDescription("Plan")) === "1/3");
    await page.until("the message", async () =>
      (await page.viewMessage("Plan")).startsWith("Replay: a recorded conversation"),
    );
    await page.statusItem("fairlead.status", ({ text }) => /waiting for you \(replay\)/.test(text));
    assert.equal(disk(workspace), before);
  },
);

editorTest("a command asks first, is allowed, and the run continues to the end", async ({ page }) => {
  const asked = await page.toast("Run “echo gate”");
  assert.deepEqual(asked.buttons, ["Allow Once", "Reject", "More..."]);
  assert.match(
    asked.message,
    /^“Add type hints to hello.py”: Run “echo gate” in the sandbox\? Your settings require approval for every command\./,
  );
  assert.equal((await page.toasts()).length, 1, "no other message, such as the run's progress, covers the editor");
  await page.toastButton("Run “echo gate”", "Allow Once");
  await page.toast("All three steps are done.");
  await page.until("the final count", async () => (await page.viewDescription("Plan")) === "3/3");
  const rows = await page.rows("Plan", (all) => all.length === 3);
  assert.deepEqual(
    rows.map(({ description }) => description),
    ["only read", "unverified", "no evidence"],
  );
  assert.deepEqual(
    rows.map(({ expanded }) => expanded),
    [undefined, false, undefined],
  );
  assert.equal(rows[2].name, "Write a note, done, no evidence: nothing happened");
});

editorTest("the proposed changes are listed by file and hunk, with a badge", async ({ page }) => {
  const rows = await page.rows("Proposed Changes", (all) => all.length === 5);
  assert.deepEqual(labels(rows), ["hello.py", "Line 1", "Line 5", "Lines 9–10", "note ü.md"]);
  assert.equal(rows[0].description, "+4 −3");
  assert.match(rows[4].description, /docs · new/);
  await page.until("the badge", async () => (await page.viewBadge("Fairlead"))?.text === "2");
});

editorTest("a click opens the diff at the hunk, with both sides", async ({ page }) => {
  await page.clickRow("Proposed Changes", "Lines 9–10");
  const left = await page.diffLines("original", { wanted: (lines) => lines.length > 5 });
  const right = await page.diffLines("modified", { wanted: (lines) => lines.length > 5 });
  assert.ok(left.includes("def greet(name):") && !left.some((line) => line.includes("-> str")));
  assert.ok(right.includes("def greet(name: str) -> str:") && right.includes('if __name__ == "__main__":'));
  await page.statusItem("status.editor.selection", ({ text }) => text.includes("Ln 9"));
});

editorTest("one hunk is accepted, and only this hunk is written to disk", async ({ page, workspace }) => {
  await page.rowAction("Proposed Changes", "Line 1", "Accept");
  await page.until(
    "the first hunk on disk",
    () => disk(workspace) === before.replace("greet(name):", "greet(name: str) -> str:"),
  );
  await page.rows("Proposed Changes", (rows) => !labels(rows).includes("Line 1"));
});

editorTest("one hunk is rejected: it leaves the diff, and the file is unchanged", async ({ page, workspace }) => {
  const text = disk(workspace);
  await page.rowAction("Proposed Changes", "Line 5", "Reject");
  await page.rows("Proposed Changes", (rows) => labels(rows).join() === "hello.py,Lines 9–10,note ü.md");
  await page.diffLines("modified", { wanted: (lines) => lines.includes("def part(name):") });
  assert.equal(disk(workspace), text);
});

editorTest("review all shows every file in one diff", async ({ page }) => {
  await page.viewTitleAction("Proposed Changes", "Review All Changes");
  const files = await page.diffFiles(2);
  assert.deepEqual(files.sort(), ["hello.py", "note ü.md"]);
});

editorTest(
  "the rest is accepted: bytes on disk, a new file in a new folder, nothing left to review",
  async ({ page, workspace }) => {
    await page.runCommand("Agent: Accept All");
    const expected = before
      .replace("greet(name):", "greet(name: str) -> str:")
      .replace('print(greet("world"))', 'if __name__ == "__main__":\n    print(greet("world"))');
    await page.until(
      "the rest on disk",
      () => disk(workspace) === expected && fs.existsSync(path.join(workspace, "docs/note ü.md")),
    );
    assert.equal(fs.readFileSync(path.join(workspace, "docs/note ü.md"), "utf8"), "# Note\n");
    assert.match(await page.welcome("Proposed Changes"), /There are no changes to review/);
    await page.until("no badge", async () => (await page.viewBadge("Fairlead")) === undefined);
    await page.until(
      "the settled diff closed",
      async () => !(await page.tabs()).some((tab) => tab.label.startsWith("hello.py (")),
    );
    await page.until("nothing unsaved", async () => (await page.tabs()).every((tab) => !tab.dirty));
  },
);

editorTest("the conversation can be read, with links to files", async ({ page }) => {
  await page.runCommand("Agent: Show Conversation in Editor");
  await page.webview().locator("h1", { hasText: "Add type hints to hello.py" }).waitFor();
  const parts = [
    "A recorded conversation replaces the model",
    "I make a plan.",
    "Thinking",
    "Read hello.py",
    "old_text not found",
    "echo gate",
    "All three steps are done.",
  ];
  assert.ok(!(await conversationSays(page, parts)).includes("First the file, then the plan."), "thinking is folded");
  await page.webview().getByRole("link", { name: "Open Read hello.py" }).first().click();
  await page.tab("hello.py");
});

editorTest("Follow Up continues the same session and offers earlier prompts", async ({ page }) => {
  await page.runCommand("Agent: Follow Up");
  const open = await page.quickInput();
  assert.match(open.title, /Follow Up on “Add type hints to hello\.py”/);
  assert.ok(open.items.some((item) => item.label.includes("Add type hints to hello.py")));
  await page.press("Enter");
  await page.fillInput("Thank", { accept: false });
  await page.press("Escape");
  await page.runCommand("Agent: Follow Up");
  assert.equal((await page.quickInput()).value, "Thank");
  await page.fillInput("Thank you");
  await page.toast("You are welcome.");
  await page.rows("Plan", (rows) => rows.length === 3);
  assert.deepEqual(page.blockedHosts(), []);
});
