// Commands in terminals: a terminal opens from the row of its command, and shows the output as it comes, with its
// colors, and how the command ended.

import assert from "node:assert/strict";
import { bash, followUp, picture, plan, runTask, useAgent } from "./agent.mjs";

const PLAN = "Plan";
const BEGIN = plan(["Run it", "in_progress", "Running it"]);
const server = { bash: { command: "echo listening; sleep 600", background: true } };
const editorTest = useAgent(
  [
    { calls: [BEGIN, bash("printf '\\033[31mred\\033[0m one\\n'; sleep 300")] },
    { calls: [BEGIN, bash("echo two; exit 3")] },
    { calls: [server] },
    { text: "It runs." },
    { calls: [BEGIN, bash("trap '' TERM; echo stubborn; sleep 300")] },
    { calls: [BEGIN] },
    { text: "I am here." },
  ],
  { settings: { "fairlead.approvals": "ask" }, workspace: { "a.txt": "a\n" }, viewport: { width: 1280, height: 1000 } },
);
const row = (rows, label) => rows.find((other) => other.label.includes(label) && !other.label.startsWith("Allow"));
const allow = async (page, command) => {
  await page.rows(PLAN, (rows) => rows.some(({ label }) => label.startsWith("Allow") && label.includes(command)));
  await page.rowAction(PLAN, ({ label }) => label.startsWith("Allow") && label.includes(command), "Allow Once");
};
const screen = (page) =>
  page.page.locator(".terminal-wrapper.active .xterm-rows, .terminal-wrapper:visible .xterm-rows").last();
const shows = (page, pattern) =>
  page.until(`a terminal with ${pattern}`, async () => {
    const text = (
      await screen(page)
        .innerText()
        .catch(() => "")
    ).replaceAll("\u00a0", " ");
    return pattern.test(text) && text;
  });

editorTest("a running command can be watched, with its colors, until it is stopped", async ({ page }) => {
  await page.showContainer("Fairlead");
  await runTask(page, "Run it");
  await allow(page, "sleep 300");
  await page.rows(
    PLAN,
    (rows) => row(rows, "sleep 300")?.description === "running" && row(rows, "sleep 300").icon.includes("spin"),
  );
  const bar = page.page
    .locator(".pane", { has: page.page.locator("h3.title", { hasText: /^Plan$/ }) })
    .locator(".monaco-progress-container.active");
  await page.until("a bar above the rows while it works", async () => (await bar.count()) > 0);
  const time = async () => /^Running it · (\d+) s$/.exec(row(await page.rows(PLAN), "Run it").description)?.[1];
  const before = await page.until("the time of the step", time);
  await page.until("a later time", async () => Number(await time()) > Number(before));
  assert.equal(await page.page.locator(".xterm").count(), 0, "no terminal opens without the user");
  await page.clickRow(PLAN, (other) => other === row([other], "sleep 300"));
  assert.match(await shows(page, /red one/), /outside the sandbox|in the sandbox/);
  const red = screen(page).locator("span", { hasText: /^red$/ });
  const color = (element) => getComputedStyle(element).color;
  await page.until(
    "the word in another color",
    async () => (await red.evaluate(color)) !== (await screen(page).evaluate(color)),
  );
  await page.runCommand("Agent: Stop");
  await shows(page, /red one\s+\[stopped · \d/);
});

editorTest("the output of a command that has ended can be opened again, with how it ended", async ({ page }) => {
  await followUp(page, "Go on");
  await allow(page, "exit 3");
  // wait for this row first, because it moves the rows below it
  await page.rows(PLAN, (rows) => rows[0].label.startsWith("Allow") && rows[0].label.includes("sleep 600"));
  for (const [command, written] of [
    ["exit 3", /two\s+\[exit 3 · \d/],
    ["sleep 300", /red one\s+\[stopped/],
  ]) {
    await page.runCommand("Terminal: Kill the Active Terminal Instance");
    await page.until("no terminal", async () => (await page.page.locator(".xterm").count()) === 0);
    await page.clickRow(PLAN, (other) => other === row([other], command));
    await shows(page, written);
  }
});

editorTest("a background command continues after the run, and can be stopped from its row", async ({ page }) => {
  await allow(page, "sleep 600");
  await page.toast("It runs.");
  const rows = await page.rows(PLAN, (all) => row(all, "cmd-1") !== undefined);
  assert.equal(row(rows, "cmd-1").description, "running");
  await page.page.mouse.move(800, 200); // away from the row above, whose hover covers this one
  await page.clickRow(PLAN, (other) => other === row([other], "cmd-1"));
  await shows(page, /listening/);
  await page.rowAction(PLAN, (other) => other === row([other], "cmd-1"), "Stop Command");
  await shows(page, /\[stopped · \d/);
  const ended = await page.rows(PLAN, (all) => row(all, "sleep 600")?.description.startsWith("stopped") ?? false);
  assert.equal(row(ended, "sleep 600").icon, "debug-stop");
});

editorTest(
  "stop takes effect at once although a running command ignores SIGTERM, and the next task can begin",
  async ({ page }) => {
    await followUp(page, "Be stubborn");
    await allow(page, "stubborn");
    await page.rows(PLAN, (rows) => row(rows, "stubborn")?.description === "running");
    await page.runCommand("Agent: Stop");
    await page.until("an idle status bar", async () =>
      (await page.statusItem("fairlead.status")).icons.includes("codicon-checklist"),
    );
    await picture(page, "stopped");
    await followUp(page, "Still there?");
    await page.toast("I am here.");
    const rows = await page.rows(PLAN, (all) => row(all, "stubborn")?.description.startsWith("stopped") ?? false);
    assert.equal(row(rows, "stubborn").icon, "debug-stop");
  },
);
