// A plan from “plan first” to its end in a real VS Code: Go, typing without interruption during the run, the output of
// screen readers, an accept in the diff of one step, and the editor's problems
// as the agent reads them.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { bash, edit, followUp, plan, useAgent } from "./agent.mjs";

const PLAN = "Plan";
const EDITS = "Proposed Changes";
const lines = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const text = `${lines.join("\n")}\n`;
const steps = (first, second) =>
  plan(["Put lines in", first, "Putting lines in"], ["Make them big", second, "Making them big"]);
const editorTest = useAgent(
  [
    { calls: [steps("pending", "pending"), edit("a.txt", "one", "ONE")] },
    { text: "This is my plan." },
    {
      calls: [
        steps("in_progress", "pending"),
        edit("a.txt", "one", "uno"),
        edit("b.txt", "two\n", "two\nx\ny\nz\n"),
        edit("c.txt", "one", "uno"),
        bash("echo wait"),
      ],
    },
    {
      calls: [
        steps("completed", "in_progress"),
        edit("a.txt", "uno", "UNO"),
        edit("b.txt", "five", "FIVE"),
        edit("b.txt", "nine", "NINE"),
        bash("echo again"),
      ],
    },
    { calls: [steps("completed", "completed")] },
    { text: "Both are done." },
    { calls: ["bad.json", "a.txt"].map((path) => ({ code: { action: "problems", path } })) },
    { text: "I looked." },
  ],
  {
    settings: { "fairlead.approvals": "ask" },
    workspace: {
      "a.txt": text,
      "b.txt": text,
      "c.txt": text,
      "notes.txt": "",
      "bad.json": '{"a": 1,, "b": 2}\n',
      // the setting of a user with a screen reader: each step is read aloud; with EditContext, VS Code itself may misplace a typed
      // character while it redraws
      ".vscode/settings.json": '{"editor.accessibilitySupport": "on", "editor.editContext": false}\n',
    },
    viewport: { width: 1280, height: 1100 },
  },
);
const disk = (workspace, name) => fs.readFileSync(path.join(workspace, name), "utf8");
const find = (rows, label) => rows.find((row) => row.label === label);
const bar = (page) =>
  page.page
    .locator(".pane", { has: page.page.locator("h3.title", { hasText: /^Plan$/ }) })
    .locator(".monaco-progress-container.active");

/** Clicks on a row's button until the row is gone. The focus and the pointer stay where they are. */
async function pressWithoutFocus(page, row, label) {
  const button = page.page
    .locator(".monaco-list-row", { hasText: row })
    .locator(`.actions .action-label[aria-label^="${label}"]`);
  await page.until(`the row ${row}`, async () => (await button.count()) > 0);
  await page.until(`the end of the row ${row}`, async () => {
    await button.evaluateAll(([first]) => first?.click());
    return (await button.count()) === 0;
  });
}

editorTest("“plan first” only makes a plan, and Go in its message starts the work", async ({ page, workspace }) => {
  await page.showContainer("Fairlead");
  await page.runCommand("Agent: Run Task (Plan First)...");
  await page.fillInput("Change the files", { title: "Agent: Run Task (Plan First)" });
  await page.toast("the plan has 2 steps");
  assert.equal(disk(workspace, "a.txt"), text);
  assert.deepEqual(await page.rows(EDITS, () => true), []);
  await page.until("no bar above the rows", async () => (await bar(page).count()) === 0);
  await page.page.evaluate(() => {
    window.said = [];
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes) for (const node of addedNodes) window.said.push(node.textContent);
    }).observe(document.querySelector(".monaco-aria-container"), {
      subtree: true,
      childList: true,
      characterData: true,
    });
  });
  await page.toastButton("the plan has 2 steps", "Go");
  await page.rows(PLAN, (rows) => find(rows, "Allow: echo wait"));
  await page.until("no bar above the rows while it waits", async () => (await bar(page).count()) === 0);
  await page.until("the count", async () => /^0\/2/.test(await page.viewDescription(PLAN)));
});

editorTest(
  "nothing takes the focus from a user who is typing: plan updates, edits, an accept, two approvals, the end",
  async ({ page, workspace }) => {
    const typed = "the quick brown fox jumps over the lazy dog and on and on it goes while the agent works ".repeat(2);
    await page.openFile("notes.txt");
    await page.typeText("");
    // VS Code applies the setting to an open editor late, and replaces the element that has the focus
    const input = page.page.locator("textarea.inputarea");
    await page.until("the screen reader's mode", async () => {
      const label = await input.getAttribute("aria-label");
      return label !== null && !label.includes("not accessible");
    });
    // the new element moves the cursor again after the first key
    await page.page.keyboard.type(typed[0]);
    await page.editorLines((shown) => shown[0] === typed[0]);
    await page.page.evaluate(() => {
      window.focused = [];
      document.addEventListener("focusin", ({ target }) => window.focused.push(target.outerHTML.slice(0, 200)));
    });
    const typing = page.page.keyboard.type(typed.slice(1), { delay: 60 });
    await pressWithoutFocus(page, "Allow: echo wait", "Allow Once");
    await page.rows(PLAN, (rows) => find(rows, "Allow: echo again"));
    await pressWithoutFocus(page, "c.txt", "Accept");
    await page.until("the accepted file", () => disk(workspace, "c.txt").startsWith("uno"));
    await pressWithoutFocus(page, "Allow: echo again", "Allow Once");
    await page.until("2/2", async () => /^2\/2/.test(await page.viewDescription(PLAN)));
    await typing;
    await page.editorLines((shown) => shown[0] === typed.trimEnd() || shown.join(" ").includes(typed.trim()));
    assert.deepEqual(await page.page.evaluate(() => window.focused), []);
    assert.ok(await page.page.evaluate(() => document.activeElement?.closest(".editor-group-container") !== null));
    await page.until("no bar above the rows at the end", async () => (await bar(page).count()) === 0);
    const said = (await page.page.evaluate(() => window.said)).join("\n");
    for (const part of ["Putting lines in", "Making them big"])
      assert.ok(said.includes(part), `a screen reader hears “${part}” in:\n${said}`);
  },
);

editorTest("in the diff of one step, commands apply to the change at the cursor", async ({ page, workspace }) => {
  await page.toggleRow(PLAN, "Make them big");
  await page.clickRow(PLAN, "b.txt");
  await page.editorFocus();
  await page.tab("b.txt (proposed), this step");
  await page.diffLines("modified", { wanted: (shown) => shown.includes("NINE") && !shown.includes("x") });
  await page.clickDiffLine("NINE");
  await page.page.keyboard.press("Alt+y");
  await page.until("the change on disk", () => disk(workspace, "b.txt") === text.replace("nine", "NINE"));
});

editorTest(
  "the agent reads the editor's problems; for a file that is not open, a note warns that it may not be checked",
  async ({ page }) => {
    await page.openFile("bad.json");
    await page.until("the problem", async () => (await page.statusItem("status.problems")).text.includes("1"));
    await followUp(page, "Look at the problems");
    await page.toast("I looked.");
    await page.runCommand("Agent: Show Conversation in Editor");
    // the results are folded
    const body = () => page.webview().locator("body").textContent();
    await page.until("the problems", async () => /bad\.json:1:\d+ error /.test(await body()));
    const warning =
      /The editor shows no problems there\. It may not check files that are not open\.\s+\(The editor does not know your proposed edits to a\.txt/;
    await page.until("the warning", async () => warning.test(await body()));
  },
);
