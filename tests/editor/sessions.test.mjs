// Several sessions in a real VS Code: they run in parallel, and are shown, steered, continued, deleted and restored.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { edit, picture, plan, runTask, useAgent } from "./agent.mjs";
import { temporaryFile } from "./host/temporary.mjs";

const PLAN = "Plan";
const SESSIONS = "Sessions";
const CHANGES = "Proposed Changes";
const ask = (question) => ({ ask_user: { question } });
const notified = temporaryFile("notified.txt");
const notify = temporaryFile("notify.sh");
fs.writeFileSync(notify, `echo "$1" >> "${notified}"\n`);
// each session plays the script from the beginning, so each one asks the question
const editorTest = useAgent(
  [
    {
      calls: [
        plan(["Greet", "in_progress", "Greeting"], ["Say goodbye"]),
        edit("a.txt", "one", "hello"),
        ask("Shall I go on?"),
      ],
    },
    { calls: [plan(["Greet", "completed"], ["Say goodbye", "completed"]), edit("b.txt", "two", "bye")] },
    { text: "Both are done." },
    { text: "You are welcome." },
  ],
  {
    workspace: { "a.txt": "one\n", "b.txt": "two\n" },
    viewport: { width: 1280, height: 1200 },
    settings: { "fairlead.notificationCommand": ["/bin/sh", notify] },
    own: true,
  },
);
const find = (rows, label) => rows.find((row) => row.label === label);
const described =
  (label, ...parts) =>
  (rows) =>
    parts.every((part) => find(rows, label)?.description.includes(part));

editorTest("the Sessions view lists the task with its state", async ({ page }) => {
  await page.showContainer("Fairlead");
  await runTask(page, "The first task");
  await page.rows(PLAN, (rows) => find(rows, "Answer: Shall I go on?"));
  await page.runCommand("Fairlead: Focus on Sessions View");
  const rows = await page.rows(SESSIONS, described("The first task", "waiting for you", "0/2", "1 file", "just now"));
  assert.equal(rows.length, 1);
  assert.match(rows[0].name, /^The first task, shown, waiting for you/);
});

editorTest("a second task is shown at once, with its own plan, and the first one still waits", async ({ page }) => {
  await page.runCommand("Agent: Show Conversation in Editor");
  await page.webview().locator("h1", { hasText: "The first task" }).waitFor();
  await runTask(page, "The second task");
  await page.webview().locator("h1", { hasText: "The second task" }).waitFor();
  const rows = await page.rows(
    SESSIONS,
    (all) => all.length === 2 && described("The second task", "waiting for you", "0/2", "1 file")(all),
  );
  assert.deepEqual(
    rows.map(({ label }) => label),
    ["The second task", "The first task"],
  );
  assert.deepEqual(
    rows.map(({ name }) => name.includes("shown")),
    [true, false],
  );
  assert.deepEqual(
    rows.map(({ icon }) => icon),
    ["question", "question"],
  );
  await picture(page, "two");
});

editorTest("a message to the agent reaches the run that is shown", async ({ page }) => {
  await page.runCommand("Agent: Tell the Agent...");
  await page.fillInput("Be polite", { title: "Agent: Tell the Agent (“The second task”)" });
  await page.until("the notice that it is queued", async () =>
    (await page.page.locator(".statusbar").innerText()).includes("Message queued."),
  );
  await page.runCommand("Agent: Show Conversation in Editor");
  await page.webview().locator(".prompt", { hasText: "Be polite" }).waitFor();
});

editorTest("the run that is shown ends, and the other one still waits", async ({ page }) => {
  await page.clickRow(PLAN, "Answer: Shall I go on?");
  await page.fillInput("Yes", { title: "Agent: Answer (“The second task”)" });
  const ended = (all) => find(all, "The second task").icon === "pass";
  const rows = await page.rows(SESSIONS, (all) => described("The second task", "2/2", "2 files")(all) && ended(all));
  assert.match(find(rows, "The first task").description, /^waiting for you · 0\/2 · 1 file/);
  await page.statusItem("fairlead.status", ({ text }) => text.includes("Agent: 1 waiting for you"));
  await page.rows(PLAN, described("“The first task”", "is waiting for you"));
  await page.toast("“The first task”: The agent asks: Shall I go on?");
  await page.until("no notice of the question that was answered in the view", async () =>
    (await page.toasts()).every(({ message }) => !message.startsWith("“The second task”: The agent asks")),
  );
  await page.until("the count", async () => (await page.viewDescription(PLAN)) === "2/2");
  await page.webview().locator("p", { hasText: "Both are done." }).waitFor();
  await page.webview().locator("body", { hasText: "Message delivered." }).waitFor();
});

editorTest("a conversation that another tab hid is up to date when it is shown again", async ({ page }) => {
  await page.openFile("b.txt");
  await page.runCommand("Agent: Show Conversation in Editor");
  await page.webview().locator("p", { hasText: "Both are done." }).waitFor();
});

editorTest(
  "a click shows the other session: its plan, its proposals at the top of the list, and its conversation",
  async ({ page }) => {
    await page.clickRow(SESSIONS, "The first task");
    await page.until("the first plan", async () => (await page.viewDescription(PLAN)) === "0/2");
    await page.rows(PLAN, (rows) => find(rows, "Answer: Shall I go on?"));
    await page.rows(CHANGES, (rows) => rows[0]?.label === "The first task");
    await page.webview().locator("h1", { hasText: "The first task" }).waitFor();
    const rows = await page.rows(SESSIONS, (all) => find(all, "The first task").name.includes("shown"));
    assert.ok(!find(rows, "The second task").name.includes("shown"));
    await picture(page, "switched");
  },
);

editorTest("a run in a session that is not shown continues, and can be stopped from its row", async ({ page }) => {
  await page.clickRow(SESSIONS, "The second task");
  await page.until("the second plan", async () => (await page.viewDescription(PLAN)) === "2/2");
  await page.until(
    "the Stop action in its row",
    async () => (await page.rowActions(SESSIONS, "The first task")).join() === "Stop",
  );
  await page.rowAction(SESSIONS, "The first task", "Stop");
  await page.rows(SESSIONS, (rows) => find(rows, "The first task").icon === "circle-slash");
  await page.rows(SESSIONS, described("The first task", "stopped"));
  await page.until("the second plan, unchanged", async () => (await page.viewDescription(PLAN)) === "2/2");
});

editorTest("a session continues from its row, with another prompt", async ({ page }) => {
  await page.rowAction(SESSIONS, "The second task", "Continue Session");
  await page.fillInput("Thank you", { title: "Agent: Continue “The second task”" });
  // the conversation is visible in a tab, so there is no message
  await page.webview().locator(".answer", { hasText: "You are welcome." }).waitFor();
  const rows = await page.rows(SESSIONS, (all) => all[0].label === "The second task");
  assert.equal(rows.length, 2);
});

editorTest("a session is renamed with F2, and found by its new name", async ({ page }) => {
  await page.clickRow(SESSIONS, "The first task");
  await page.rows(SESSIONS, described("The first task", "shown"));
  await page.press("F2");
  await page.fillInput("Greetings", { title: "Agent: Rename Session" });
  await page.rows(SESSIONS, described("Greetings", "shown", "stopped"));
  await page.clickRow(SESSIONS, "The second task");
  await page.runCommand("Agent: Find Session...");
  await page.pick("Greetings", { title: "Agent: Find Session" });
  await page.rows(SESSIONS, described("Greetings", "shown"));
  await picture(page, "found");
  await page.runCommand("Agent: Rewind...");
  await page.fillInput("Another Session...", { title: "Agent: Rewind “Greetings”" });
  await page.pick("The second task", { title: "Agent: Rewind", isInNext: true });
  await page.until("the messages of the other session", async () => {
    const { title, items } = await page.quickInput();
    return title === "Agent: Rewind “The second task”" && items[0].label === "Thank you";
  });
  await page.press("Escape");
  await page.clickRow(SESSIONS, "Greetings");
  await page.rows(SESSIONS, described("Greetings", "shown"));
});

editorTest(
  "a conversation is exported as Markdown or as JSON, at first to the home folder",
  async ({ page, workspace }) => {
    const title = "Export Conversation";
    const saved = (ending) => path.join(workspace, "..", "home", `Greetings.${ending}`);
    for (const [format, ending] of [
      ["Markdown", "md"],
      ["JSON", "json"],
    ]) {
      await page.runCommand("Agent: Export Conversation...");
      await page.pick(format, { title: "Agent: Export Conversation" });
      // VS Code replaces what is typed before it has listed the folder
      await page.until("the offered name", async () => (await page.quickInput(title)).value === saved(ending));
      await page.fillInput(saved(ending), { title });
      await page.until(`the ${format} file`, async () => fs.existsSync(saved(ending)));
    }
    await page.toast("Conversation exported.");
    assert.match(fs.readFileSync(saved("md"), "utf8"), /^# Greetings\n\n## You\n\nThe first task\n/);
    assert.equal(JSON.parse(fs.readFileSync(saved("json"), "utf8")).title, "Greetings");
  },
);

editorTest("a page has the costs of the sessions", async ({ page }) => {
  await page.runCommand("Agent: Show Costs");
  await page.until("the page of costs", async () =>
    (await page.tabs()).some(({ label }) => label.includes("Costs.md")),
  );
});

editorTest(
  "deleting a session asks first, says that undecided changes would be lost, and leaves files and the other session alone",
  async ({ page, workspace }) => {
    await page.rowAction(SESSIONS, "The second task", "Delete Session");
    const asked = await page.dialog();
    assert.match(asked.message, /Delete “The second task”\?/);
    assert.match(asked.detail, /undecided changes to 2 files/);
    await picture(page, "delete");
    await page.pressDialog("Delete");
    await page.rows(SESSIONS, (all) => all.length === 1 && all[0].name.startsWith("Greetings, shown"));
    await page.until("the first plan", async () => (await page.viewDescription(PLAN)) === "0/2");
    await page.rows(CHANGES, (all) => all[0]?.label === "a.txt" && all.every(({ label }) => label !== "b.txt"));
    assert.equal(fs.readFileSync(path.join(workspace, "b.txt"), "utf8"), "two\n");
  },
);

editorTest(
  "after a reload, the conversation is restored while Fairlead's views are hidden, and the session when they are shown",
  async ({ page }) => {
    await page.runCommand("View: Show Explorer");
    await page.reload();
    await page.clickTab("Conversation");
    await page.webview().locator("h1", { hasText: "Greetings" }).waitFor();
    await page.webview().locator(".tool", { hasText: "Update the plan" }).waitFor();
    const prompt = page.webview().locator(".prompt", { hasText: "The first task" });
    await page.until("the task in the conversation, once", async () => (await prompt.count()) === 1);
    await page.showContainer("Fairlead");
    const rows = await page.rows(SESSIONS, described("Greetings", "0/2", "1 file"));
    assert.match(rows[0].name, /^Greetings, shown/);
  },
);

editorTest("the conversation that VS Code has restored shows the next task", async ({ page }) => {
  await runTask(page, "The third task");
  await page.webview().locator("h1", { hasText: "The third task" }).waitFor();
  // waits for the session's question: if it came in the next test, without the focus, it would run the user's program
  await page.rows(SESSIONS, described("The third task", "waiting for you"));
});

editorTest("a file that was removed from the context stays removed when an answer is sent", async ({ page }) => {
  await page.openFile("b.txt");
  await page.runCommand("Agent: Show Conversation in Editor");
  const chip = page.webview().locator(".chip", { hasText: "b.txt" });
  await chip.getByRole("button", { name: "Do not send b.txt" }).click();
  await chip.waitFor({ state: "detached" });
  const prompt = page.webview().locator("textarea");
  await prompt.fill("Yes, briefly");
  await prompt.press("Enter");
  await page.webview().locator("p", { hasText: "Both are done." }).waitFor();
  assert.equal(await chip.count(), 0);
});

editorTest("a window without the focus runs the user's program when something waits", async ({ page }) => {
  assert.ok(!fs.existsSync(notified), "the program ran although the window had the focus");
  await page.page.evaluate(() => {
    document.hasFocus = () => false;
    // makes VS Code check at once whether the window has the focus; a `blur` would count only if no element got the
    // focus right after it
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await runTask(page, "The fourth task");
  await page.until("the notification", () => fs.existsSync(notified) && fs.statSync(notified).size > 0);
  assert.equal(fs.readFileSync(notified, "utf8"), "“The fourth task”: The agent asks: Shall I go on?\n");
});
