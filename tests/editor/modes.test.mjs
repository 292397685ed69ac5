// A plan-first run and Go; questions from the agent and to it; undoing a step; the record; the plan's history.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { conversationSays, edit, picture, plan, useAgent } from "./agent.mjs";

const PLAN = "Plan";
const TONE = `Which tone, ${"with all that was said of it before ".repeat(5)}in mind?`;
const steps = (first, second) => plan(["Greet a", first, "Greeting a"], ["Greet b", second, "Greeting b"]);
const ask = (question, ...options) => ({ ask_user: { question, ...(options.length > 0 ? { options } : {}) } });
const editorTest = useAgent(
  [
    { calls: [steps("pending", "pending")] },
    { text: "This is my plan." },
    { calls: [steps("in_progress", "pending"), edit("a.txt", "one", "hello"), ask(TONE, "Formal", "Casual")] },
    { calls: [steps("completed", "in_progress"), edit("b.txt", "two", "hi"), ask("Which name?")] },
    { calls: [steps("completed", "completed")] },
    { text: "Both are greeted." },
    { text: "It is *forty-two*." },
    { calls: [ask("Still there?", "Yes", "No")] },
    { text: "Never said." },
  ],
  { workspace: { "a.txt": "one\n", "b.txt": "two\n" }, viewport: { width: 1280, height: 1100 } },
);
const disk = (workspace, name) => fs.readFileSync(path.join(workspace, name), "utf8");
// VS Code shows only a few messages at a time as toasts, so the tests look for questions in the view
const asks = (question) => (rows) => rows.some(({ label }) => label === `Answer: ${question}`);

editorTest(
  "plan first: the plan is ready, no file has changed, and the user is offered Go",
  async ({ page, workspace }) => {
    await page.showContainer("Fairlead");
    await page.runCommand("Agent: Run Task (Plan First)...");
    await page.fillInput("Greet everyone", { title: "Agent: Run Task (Plan First)" });
    const told = await page.toast("the plan has 2 steps");
    assert.deepEqual(told.buttons, ["Go", "Show Plan"]);
    assert.equal(disk(workspace, "a.txt"), "one\n");
    await page.closeToast("the plan has 2 steps");
    const [row] = await page.rows(PLAN, (rows) => rows[0]?.label === "Go");
    assert.equal(row.description, "the plan is ready, 2 steps");
  },
);

editorTest(
  "Go executes the plan; a question does not open a box, is shown completely, and stays open when its box is closed",
  async ({ page }) => {
    await page.viewTitleAction(PLAN, "Go");
    await page.rows(PLAN, asks(TONE));
    assert.ok(!(await page.page.locator(".quick-input-widget").isVisible()));
    await page.statusItem("fairlead.status", ({ text }) => text.includes("waiting for you"));
    await page.rowAction(PLAN, `Answer: ${TONE}`, "Answer");
    await page.fillInput("Neither", { title: "Agent: Answer", accept: false });
    await page.press("Escape");
    await page.rows(PLAN, asks(TONE));
    await page.clickStatus("fairlead.status");
    const open = await page.quickInput("Agent: Answer");
    assert.deepEqual([open.value, open.message], ["Neither", TONE]);
    await picture(page, "question");
    await page.fillInput("", { title: "Agent: Answer", accept: false });
    await page.until(
      "the options",
      async () => (await page.quickInput()).items.map(({ label }) => label).join() === "Formal,Casual",
    );
    await page.pick("Casual", { title: "Agent: Answer" });
  },
);

editorTest("a question without options accepts any text", async ({ page }) => {
  await page.clickRow(PLAN, "Answer: Which name?");
  await page.fillInput("Ada", { title: "Agent: Answer" });
  await page.rows(PLAN, (rows) => rows.filter(({ description }) => description === "unverified").length === 2);
  await page.until("the end of the run", async () =>
    (await page.statusItem("fairlead.status")).icons.includes("codicon-checklist"),
  );
  await page.until("no Go in the title", async () => !(await page.viewTitleActions(PLAN)).includes("Go"));
});

editorTest("undoing a step reverts its accepted changes, not the other step's", async ({ page, workspace }) => {
  await page.runCommand("Agent: Accept All");
  await page.until("both on disk", () => disk(workspace, "a.txt") === "hello\n" && disk(workspace, "b.txt") === "hi\n");
  await page.rowMenu(PLAN, "Greet a", "Undo This Step");
  await page.until("the first undone", () => disk(workspace, "a.txt") === "one\n");
  assert.equal(disk(workspace, "b.txt"), "hi\n");
});

editorTest(
  "a question to the agent opens the conversation, which shows its answer, the user's answers and the record",
  async ({ page }) => {
    await page.runCommand("Agent: Send Question...");
    await page.fillInput("How many?", { title: "Agent: Send Question" });
    await page.webview().locator("em", { hasText: "forty-two" }).waitFor();
    await conversationSays(page, [TONE, "The user answered: Casual", "The user answered: Ada", "2 of 2 steps"]);
  },
);

editorTest("the record can be copied as text and as JSON, and the plan's history opens in a tab", async ({ page }) => {
  await page.runCommand("Agent: Copy Record");
  const clipboard = await page.until("the record in the clipboard", async () => {
    const text = await page.page.evaluate(() => navigator.clipboard.readText());
    return text.includes("Greet a") && text;
  });
  assert.match(clipboard, /b\.txt/);
  await page.runCommand("Agent: Copy Record as JSON");
  const record = await page.until("the record as JSON in the clipboard", async () => {
    const text = await page.page.evaluate(() => navigator.clipboard.readText());
    return text.startsWith("{") && JSON.parse(text);
  });
  assert.equal(record.format, 1);
  assert.ok(record.files.some(({ path, after }) => path === "b.txt" && /^[0-9a-f]{64}$/.test(after?.sha256)));
  await page.runCommand("Agent: Show Plan History");
  await page.tab("Preview Plan History.md");
});

editorTest("stopping a run closes the box of its question and removes the question", async ({ page }) => {
  await page.runCommand("Agent: Follow Up");
  await page.fillInput("Ask me");
  await page.rows(PLAN, asks("Still there?"));
  await page.rowAction(PLAN, "Answer: Still there?", "Answer");
  await page.quickInput("Agent: Answer");
  await page.viewTitleAction(PLAN, "Stop");
  await page.until("the box to close", async () => !(await page.page.locator(".quick-input-widget").isVisible()));
  await page.rows(PLAN, (rows) => rows.length > 0 && !asks("Still there?")(rows));
});
