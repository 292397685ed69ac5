// The context of a task: what the user is looking at, and mentions. Mentions are completed in the prompt and in the
// document of a task, sent with the task, and shown in the conversation.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { conversationSays, edit, followUp, picture, plan, useAgent } from "./agent.mjs";
import { writeFiles } from "./host/editor.mjs";

const GREET = 'export function greet(name: string) {\n  const hello = "Hello";\n  return `${hello}, ${name}`;\n}\n';
// the minimum that Git accepts as a repository
const cell = (source) => ({ cell_type: "markdown", metadata: {}, source: [source] });
const CHART = { cells: ["one", "two", "three"].map(cell), metadata: {}, nbformat: 4, nbformat_minor: 5 };
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const REPOSITORY = {
  ".git/HEAD": "ref: refs/heads/topic\n",
  ".git/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
  ".git/objects/info/packs": "",
  ".git/refs/heads/.keep": "",
};
const STEP = plan(["Greet politely", "in_progress", "Greeting"]);
const turns = [
  { text: "First." },
  { text: "Second." },
  { calls: [STEP, edit("src/app/main.ts", "export {}", "export default {}")] },
  { text: "Third." },
  { text: "Fourth." },
];
const editorTest = useAgent(turns, {
  workspace: {
    "src/greet.ts": GREET,
    "src/app/main.ts": "export {};\n",
    "data.json": '{"a": }\n',
    "my notes.md": "# Notes\n",
    ".env": "KEY=hunter2\n",
    "chart.ipynb": JSON.stringify(CHART),
    "dot.png": Buffer.from(DOT, "base64"),
    ...REPOSITORY,
  },
  settings: { "search.exclude": { "**/*.{gen,snap}.ts": true, "**/old": true, "**/app": false } },
  viewport: { width: 1400, height: 1000 },
  own: true,
});

const value = (page, wanted) =>
  page.until(`the box with ${wanted}`, async () => (await page.quickInput()).value === wanted);
const labels = (page, wanted) =>
  page.until(`the row ${wanted}`, async () => {
    const rows = (await page.quickInput()).items.map(({ label }) => label);
    return rows.includes(wanted) && rows;
  });

/** Selects a line of a side of the diff in front. */
async function selectDiffLine(page, line, side) {
  await page.clickDiffLine(line, { side });
  await page.press("Shift+Home");
  // the status bar shows only the selection of the right side
  await page.page.locator(`.monaco-diff-editor .editor.${side} .selected-text`).first().waitFor({ state: "attached" });
}

/** Shows the conversation, waits for a context with this title, and returns its text. */
async function sentContext(page, title) {
  await page.runCommand("Agent: Show Conversation in Editor");
  // notebooks and pictures have webviews too
  const context = await page.until(`the context "${title}"`, async () => {
    for (const frame of page.page.frames()) {
      const details = frame.locator("details", { has: frame.locator("summary", { hasText: title }) }).last();
      if (await details.count()) return details;
    }
    return undefined;
  });
  await context.locator("summary").click();
  return page.until("the text of the context", async () => {
    const text = await context.innerText();
    return text.includes("</context>") && text;
  });
}

editorTest("Enter or Tab completes a mention, and another Enter runs the task", async ({ page }) => {
  await page.openFile("data.json");
  await page.statusItem("status.problems", ({ text }) => /1/.test(text));
  await page.openFile("src/greet.ts");
  await page.clickLine("const hello");
  await page.press("Home");
  await page.press("Home");
  await page.press("Shift+ArrowDown");
  await page.press("Shift+ArrowDown");
  await page.statusItem("status.editor.selection", ({ text }) => text.includes("selected"));
  await page.runCommand("Agent: Run Task");
  await page.fillInput("Explain #", { title: "Agent: Run Task", accept: false });
  const rows = await labels(page, "#src/greet.ts");
  assert.ok(rows.includes("#selection") && rows.includes("#problems"), rows.join());
  await picture(page, "mentions");
  await page.insertText("sel");
  await labels(page, "#selection");
  await page.press("Enter");
  await value(page, "Explain #selection ");
  await page.insertText("and #main");
  await labels(page, "#src/app/main.ts");
  await page.press("Tab");
  await value(page, "Explain #selection and #src/app/main.ts ");
  await page.insertText('with #"my');
  await labels(page, '#"my notes.md"');
  await picture(page, "mention-of-a-file");
  await page.press("Enter");
  await value(page, 'Explain #selection and #src/app/main.ts with #"my notes.md" ');
  await page.insertText("and #problems but not #nothing or issue #12");
  await page.press("Enter");
  await page.toast("First.");
  await page.closeToast("First.");
});

editorTest("a box that replaces another one has its text, and completes mentions", async ({ page }) => {
  await page.showContainer("Fairlead");
  await page.runCommand("Agent: Run Task");
  await page.fillInput("Explain", { title: "Agent: Run Task", accept: false });
  await page.viewTitleAction("Plan", "Run Task (Plan First)");
  assert.equal((await page.quickInput("Agent: Run Task (Plan First)")).value, "Explain");
  await page.fillInput("Explain #gre", { accept: false });
  await labels(page, "#src/greet.ts");
  await page.press("Tab");
  await value(page, "Explain #src/greet.ts ");
  await page.press("Escape");
});

editorTest("files that VS Code's search excludes are not suggested", async ({ page, workspace }) => {
  writeFiles(workspace, {
    "src/x.gen.ts": "",
    "src/old/x.ts": "",
    "build/x.ts": "",
    "node_modules/x.ts": "",
    "x.ts": "",
  });
  await page.runCommand("Agent: Run Task");
  await page.fillInput("Explain #x.", { title: "Agent: Run Task", accept: false });
  await labels(page, "#x.ts");
  const rows = (await page.quickInput()).items.map(({ label }) => label);
  assert.deepEqual(rows.filter((row) => row.startsWith("#")).sort(), ["#build/x.ts", "#x.ts"]);
  for (const name of ["src/x.gen.ts", "src/old", "build", "node_modules", "x.ts"])
    fs.rmSync(path.join(workspace, name), { recursive: true });
  await page.press("Escape");
});

editorTest("the conversation shows the context that the agent read, and no secret", async ({ page }) => {
  await page.runCommand("Agent: Show Conversation in Editor");
  await conversationSays(page, [
    "Context: src/greet.ts, lines 2 to 3 (selected); src/app/main.ts; my notes.md; the problems that the editor shows; active",
  ]);
  await page.webview().locator("summary", { hasText: "Context: " }).first().click();
  const text = await conversationSays(page, [
    "- src/greet.ts, lines 2 to 3 (selected)",
    "- src/app/main.ts",
    "- my notes.md",
    "- the problems that the editor shows",
    'const hello = "Hello";',
    "data.json:1:7 error Value expected",
    "Active file: src/greet.ts, lines 1 to 4 visible, lines 2 to 3 selected",
    "Other open files: data.json",
    "Problems in the open files: 1 error",
    "Git branch: topic",
    "- untracked src/greet.ts",
  ]);
  assert.ok(!text.includes("nothing ("), text);
  assert.ok(!text.includes(".env"), text);
  await picture(page, "context");
  // while it is visible, no message says the answer
  await page.runCommand("View: Close Editor");
});

editorTest("a follow-up names only what changed", async ({ page }) => {
  await followUp(page, "And now?");
  await page.toast("Second.");
  await page.closeToast("Second.");
  await page.runCommand("Agent: Show Conversation in Editor");
  await conversationSays(page, ["Second."]);
  const summary = page.webview().locator("summary", { hasText: "Context: " });
  assert.equal(await summary.count(), 1, "nothing is new in the editor, so no row says that");
  await page.runCommand("View: Close Editor");
});

editorTest("#changes sends the uncommitted changes, without secrets", async ({ page, workspace }) => {
  const git = (...args) =>
    execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a", ...args], { cwd: workspace, stdio: "ignore" });
  git("add", "src", ".env", "chart.ipynb", "dot.png");
  git("commit", "-m", "First");
  fs.writeFileSync(path.join(workspace, "src", "greet.ts"), GREET.replace("Hello", "Good morning"));
  fs.writeFileSync(path.join(workspace, ".env"), "KEY=hunter3\n");
  await page.runCommand("Agent: Run Task");
  await page.fillInput("Review #", { title: "Agent: Run Task", accept: false });
  await labels(page, "#changes");
  await page.insertText("changes now");
  await page.press("Enter");
  await page.toast("First.");
  await page.closeToast("First.");
  await page.runCommand("Agent: Show Conversation in Editor");
  await conversationSays(page, ["Context: the uncommitted changes (git diff)"]);
  await page.webview().locator("summary", { hasText: "Context: " }).first().click();
  const text = await conversationSays(page, [
    '-  const hello = "Hello";',
    '+  const hello = "Good morning";',
    "new file, untracked",
    "(1 of 4 files omitted, because they look like secrets.)",
  ]);
  assert.ok(!text.includes("hunter"), text);
  await picture(page, "changes");
  await page.runCommand("View: Close Editor");
});

editorTest("the agent reads which side of its diff is selected, and the text", async ({ page }) => {
  for (const [prompt, answer] of [
    ["More", "Second."],
    ["Change it", "Third."],
  ]) {
    await followUp(page, prompt);
    await page.toast(answer);
    await page.closeToast(answer);
  }
  await page.showContainer("Fairlead");
  await page.clickRow("Proposed Changes", "Line 1");
  await page.tab("main.ts (proposed)");
  await selectDiffLine(page, "export {}", "original");
  await picture(page, "selection-in-base");
  await followUp(page, "Why not #selection");
  await page.toast("Fourth.");
  await page.closeToast("Fourth.");
  const text = await sentContext(
    page,
    "src/app/main.ts, before the proposed changes, line 1 (selected); active file src/app",
  );
  assert.match(text, /<selection>\nexport {};\n<\/selection>/);
  assert.match(text, /Active file: src\/app\/main.ts$/m);
  await picture(page, "selection-in-base-sent");
});

editorTest("the commit message says what was accepted, and nothing is committed", async ({ page, workspace }) => {
  const head = () => fs.readFileSync(path.join(workspace, ".git", "refs", "heads", "topic"), "utf8");
  const before = head();
  await page.runCommand("Agent: Commit Message from Record");
  await page.toast("You have not accepted any changes from this session.");
  await page.closeToast("You have not accepted any change");
  await page.runCommand("Agent: Accept All");
  await page.rows("Proposed Changes", (rows) => rows.length === 0);
  await page.runCommand("Agent: Commit Message from Record");
  const input = page.page.locator(".scm-editor .view-lines").first();
  await page.until("the message", async () =>
    (await input.innerText()).replace(/\u00a0/g, " ").includes("- Greet politely"),
  );
  await picture(page, "commit-message");
  assert.equal(head(), before);
});

editorTest("the document of a task completes mentions, and sends the file that was active before", async ({ page }) => {
  await page.openFile("src/app/main.ts");
  await page.runCommand("Agent: Run Task");
  await page.fillInput("Line one", { title: "Agent: Run Task", accept: false });
  await page.press("Escape");
  await page.runCommand("Agent: Run Task");
  await value(page, "Line one");
  await page.page.locator(".quick-input-titlebar .action-label").first().click();
  await page.editorLines((lines) => lines.join("\n").includes("Line one"));
  await page.typeText("\nSee #gre", { at: "end" });
  await page.press("Control+Space");
  await page.page.locator(".suggest-widget .monaco-list-row", { hasText: "#src/greet.ts" }).first().waitFor();
  await picture(page, "task-document");
  await page.press("Enter");
  await page.editorLines((lines) => lines.join("\n").includes("See #src/greet.ts "));
  await page.press("Backspace"); // the space, so that the file is dropped directly after a word
  await page.editorLines((lines) => lines.join("\n").endsWith("See #src/greet.ts"));
  await page.runCommand("View: Show Explorer");
  const { mouse, keyboard } = page.page;
  await page.page.locator(".explorer-folders-view .monaco-list-row", { hasText: "data.json" }).hover();
  const end = await page.page.locator(".editor-instance .view-line").last().boundingBox();
  await mouse.down();
  await keyboard.down("Shift"); // without it, VS Code opens a dropped file
  await mouse.move(end.x + 300, end.y + end.height / 2, { steps: 5 });
  await mouse.up();
  await keyboard.up("Shift");
  await page.editorLines((lines) => lines.join("\n").includes("#src/greet.ts #data.json "));
  await picture(page, "task-document-dropped");
  await page.typeText("", { at: "end" });
  await page.press("ControlOrMeta+Enter");
  await page.until("the document closed", async () =>
    (await page.tabs()).every(({ label }) => !label.startsWith("Line one")),
  );
  await page.toast("First.");
  await page.closeToast("First.");
  await page.runCommand("Agent: Show Conversation in Editor");
  await conversationSays(page, [
    "Context: src/greet.ts; data.json; active file src/app/main.ts; 1 error; branch topic",
  ]);
});

editorTest("an untitled document replaces the active file, and #selection sends its text", async ({ page }) => {
  await page.openFile("src/greet.ts");
  await page.runCommand("File: New Untitled Text File");
  await page.typeText("first note\nsecond note\nthird note");
  await page.press("Shift+Home");
  await page.press("Shift+ArrowUp");
  await page.statusItem("status.editor.selection", ({ text }) => text.includes("selected"));
  await page.runCommand("Agent: Run Task");
  await page.fillInput("Explain #selection", { title: "Agent: Run Task" });
  await page.toast("First.");
  await page.closeToast("First.");
  await page.runCommand("Agent: Show Conversation in Editor");
  await conversationSays(page, ["Context: Untitled-1, lines 2 to 3 (selected, not saved as a file); "]);
  await page.webview().locator("summary", { hasText: "Context: " }).first().click();
  const text = await conversationSays(page, ["second note\nthird note", "src/greet.ts"]);
  assert.ok(!text.includes("first note") && !text.includes("Active file: "), text);
  await picture(page, "untitled");
});

editorTest(
  "in front of an old version in Git, the agent reads the selected text, and no lines of the file",
  async ({ page }) => {
    await page.openFile("src/greet.ts");
    await page.runCommand("Git: Open Changes");
    await selectDiffLine(page, "const hello", "original");
    await page.editorMenu(["Agent", "Run Task on Selection"]);
    await page.fillInput("Why?", { title: "Agent: Ask or Change greet.ts, line 2" });
    await page.toast("First.");
    await page.closeToast("First.");
    const text = await sentContext(
      page,
      "src/greet.ts, as in the Git index, line 2 (selected); active file src/greet.ts",
    );
    assert.match(text, /<selection>\n {2}const hello = "Hello";\n<\/selection>/);
    assert.match(text, /Active file: src\/greet.ts$/m);
    await picture(page, "selection-in-git-sent");
  },
);

editorTest("notebooks and files in other editors are open files, and #selection sends a cell", async ({ page }) => {
  await page.openFile("chart.ipynb");
  await page.webview().getByText("two").click();
  await page.runCommand("Agent: Run Task");
  await page.fillInput("Explain #selection", { title: "Agent: Run Task" });
  await page.toast("First.");
  await page.closeToast("First.");
  const text = await sentContext(page, "chart.ipynb, cell 2 (selected); active file chart.ipynb");
  assert.match(text, /<selection>\ntwo\n<\/selection>/);
  await picture(page, "selection-in-notebook-sent");
  await page.press("F1");
  await page.page.locator(".quick-input-widget .quick-input-filter input").fill("dot.png");
  await page.page.locator(".quick-input-list .monaco-list-row", { hasText: "dot.png" }).first().click();
  await page.tab("dot.png");
  await followUp(page, "And this?");
  await page.toast("Second.");
  await page.closeToast("Second.");
  const next = await sentContext(page, "active file dot.png");
  assert.match(next, /Active file: dot.png$/m);
  assert.match(next, /Other open files: .*chart.ipynb/);
  await picture(page, "custom-editor-sent");
});
