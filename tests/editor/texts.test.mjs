// Untrusted texts in the editor: what a model, a task or the name of a file says makes no link and no icon, and hides
// nothing (docs/faults.md 158, 170 to 173).

import assert from "node:assert/strict";
import { bash, conversationSays, edit, picture, plan, runTask, useAgent } from "./agent.mjs";

const PLAN = "Plan";
const LINK = "[Open](command:workbench.action.toggleZenMode)";
const TITLE = `$(check) Proved ${LINK} a\u202eb`;
const SHOWN = `$(check) Proved ${LINK} a\\u{202e}b`;
const STEP = `$(check) Step ${LINK} a\u202eb`;
const STEP_SHOWN = STEP.replace("\u202e", "\\u{202e}");
const QUESTION = `Delete it? ${LINK} a\u202eb [Yes`;
const OPTION = "$(trash) Keep\u200b it";
const NAME = "a\u202efdp.$(check).exe";
const editorTest = useAgent(
  [
    {
      calls: [
        plan([STEP, "in_progress", STEP]),
        edit(NAME, "a", "b"),
        { ask_user: { question: QUESTION, options: [OPTION, "No"] } },
      ],
    },
    { calls: [{ ask_user: { question: QUESTION } }] },
    { calls: [bash("echo '[Yes $(check)'; sleep 600")] },
    { text: `See [docs](https://example.com/\u202elive) and ${LINK}.` },
  ],
  { settings: { "fairlead.approvals": "ask" }, workspace: { [NAME]: "a\n" }, viewport: { width: 1280, height: 1000 } },
);
const HIDDEN = /[\u200b\u202e]/;
const hasLinks = (page, place, ...wanted) =>
  page.until(`the links ${wanted.join(", ")} in ${place}`, async () => {
    const found = await page.page.locator(`${place} a`).allInnerTexts();
    if (found.join() !== wanted.join()) throw new Error(`there are ${found.join(", ")}`);
    return true;
  });
const iconsIn = (page, place) => page.page.locator(`${place} .codicon-check, ${place} .codicon-trash`).count();
const TOASTS = ".notification-list-item-message";

editorTest(
  "docs/faults.md 172: a notice has no links, and buttons with the words that they stand for",
  async ({ page }) => {
    await page.showContainer("Fairlead");
    await runTask(page, TITLE);
    const { message } = await page.toast("The agent asks");
    assert.match(message, /Delete it\?/);
    assert.doesNotMatch(message, HIDDEN);
    await hasLinks(page, TOASTS);
    const { buttons } = await page.toast("The agent asks");
    assert.deepEqual(buttons, ["$(trash) Keep\\u{200b} it", "No", "Other Answer..."]);
    await picture(page, "notice");
  },
);

editorTest("docs/faults.md 171: rows and their hovers show a text as it is", async ({ page }) => {
  const rows = await page.rows(PLAN, (all) => all.some(({ label }) => label === STEP_SHOWN));
  // the words of the Markdown; the hover has the question as the model wrote it
  assert.ok(rows.some(({ label }) => label === "Answer: Delete it? Open a\\u{202e}b [Yes"));
  for (const { label, description, name } of rows) assert.doesNotMatch(label + description + name, HIDDEN);
  assert.doesNotMatch(await page.tooltip(PLAN, STEP_SHOWN), HIDDEN);
  await page.rows("Proposed Changes", ([file]) => file?.label === NAME.replace("\u202e", "\\u{202e}"));
  const { label } = await page.statusItem("fairlead.status", (item) => item.label.includes("“$(check) Proved"));
  assert.doesNotMatch(label, HIDDEN);
});

editorTest("docs/faults.md 170: a question and its options make no link and no icon", async ({ page }) => {
  const box = ".quick-input-widget";
  await page.clickStatus("fairlead.status");
  const open = await page.quickInput("Agent: Answer");
  assert.match(open.message, /Delete it\? \[Open\] \(command:/);
  await hasLinks(page, `${box} .quick-input-message`);
  await page.until("the options", async () => (await page.quickInput()).items.length === 2);
  assert.equal((await page.quickInput()).items[0].label, "$(trash) Keep\\u{200b} it");
  assert.equal(await iconsIn(page, `${box} .quick-input-list`), 0);
  await picture(page, "question");
  await page.pick("No", { title: "Agent: Answer" });
  await page.clickRow(PLAN, (row) => row.label.startsWith("Answer"));
  assert.doesNotMatch((await page.quickInput("Agent: Answer")).message, HIDDEN);
  await hasLinks(page, `${box} .quick-input-message`);
  await page.fillInput("No", { title: "Agent: Answer" });
});

editorTest("docs/faults.md 172: a command cannot put its words into a button of its notice", async ({ page }) => {
  await page.rows(PLAN, (rows) => rows[0]?.label === "Allow: echo '[Yes $(check)'; sleep 600");
  assert.deepEqual((await page.toast("Run “echo '[Yes $(check)'; sleep 600”")).buttons, [
    "Allow Once",
    "Reject",
    "More...",
  ]);
  await hasLinks(page, TOASTS);
  await page.clickStatus("fairlead.status");
  assert.ok((await page.dialog()).detail.startsWith("echo '[Yes $(check)'; sleep 600\n"));
  await picture(page, "dialog");
  await page.press("Enter");
});

editorTest("docs/faults.md 170: titles and lists show a text as it is", async ({ page }) => {
  await page.toast("See docs");
  await hasLinks(page, TOASTS);
  await page.runCommand("Agent: Rewind...");
  const { title, items } = await page.quickInput();
  assert.equal(title, `Agent: Rewind “${SHOWN}”`);
  assert.equal(items[0].label, SHOWN);
  assert.equal(await iconsIn(page, ".quick-input-widget"), 0);
  await picture(page, "list");
  await page.press("Escape");
  await page.runCommand("Agent: Review All Changes");
  await page.until("the title of the diff", async () =>
    // VS Code adds the number of files once it has read them
    (await page.tabs()).some(({ label }) => label.startsWith(`Proposed: ${SHOWN}`)),
  );
  await picture(page, "tab");
});

editorTest(
  "docs/faults.md 173: the conversation shows where a link leads, and copies what it shows",
  async ({ page }) => {
    await page.runCommand("Agent: Show Conversation");
    await conversationSays(page, ["See docs", SHOWN]);
    const link = page.webview().locator(".entry.answer a", { hasText: "docs" }).last();
    assert.equal(await link.getAttribute("title"), "https://example.com/\\u{202e}live");
    assert.doesNotMatch(await page.webview().locator("body").innerText(), HIDDEN);
    await page.webview().getByRole("button", { name: "Copy answer" }).last().click();
    await page.until("the answer in the clipboard", async () => {
      const text = await page.page.evaluate(() => navigator.clipboard.readText());
      return text === `See [docs](https://example.com/\\u{202e}live) and ${LINK}.`;
    });
    await picture(page, "conversation");
  },
);
