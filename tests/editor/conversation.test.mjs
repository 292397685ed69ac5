// The conversation in its view: what it shows while the agent works, and what is answered there.

import assert from "node:assert/strict";
import { bash, edit, picture, plan, runTask, useAgent } from "./agent.mjs";

const HOSTILE = [
  "A picture ![x](https://example.com/x.png) and <img src=https://example.com/y.png onerror=alert(1)>.",
  "[Run it](command:workbench.action.closeWindow) or [read it](greet.py#L2).",
  "<script>document.title = 'hacked'</script>",
  "gnp.\u202egpj",
].join("\n\n");
const SLOW = { ask_user: { question: "Which *tone*?", options: ["Formal", "Casual"] } };
const editorTest = useAgent(
  [
    {
      text: "I make a **plan**.",
      calls: [plan(["Greet politely", "in_progress", "Greeting politely"], ["Say goodbye"]), bash("echo one; exit 3")],
    },
    { calls: [edit("greet.py", "Hello", "Good day"), SLOW] },
    { calls: [plan(["Greet politely", "completed"], ["Say goodbye", "completed"])] },
    { text: `All of it is done.\n\n${HOSTILE}` },
  ],
  { workspace: { "greet.py": "# a greeting\nprint('Hello')\n" }, settings: { "fairlead.approvals": "ask" } },
);
const inView = (page, selector, options) => page.webview().locator(selector, options);
const appears = (page, selector, hasText) => inView(page, selector, { hasText }).first().waitFor({ timeout: 30_000 });

editorTest(
  "an approval is answered in the conversation, and the failed command has its reason there",
  async ({ page }) => {
    await page.showContainer("Fairlead");
    await page.runCommand("Agent: Show Conversation");
    await runTask(page, "Greet me `politely`");
    await appears(page, ".card .title", "The agent asks to run this command.");
    await appears(page, ".card pre", "echo one; exit 3");
    await picture(page, "conversation-approval");
    await inView(page, ".card button", { hasText: "Allow Once" }).click();
    await appears(page, ".tool .note", "exit code 3");
    await appears(page, ".step h3", "Greet politely");
  },
);

editorTest("a question is answered in the conversation", async ({ page }) => {
  await appears(page, ".card .title", "Which *tone*?");
  await picture(page, "conversation-question");
  await inView(page, ".card input").fill("Very formal");
  await inView(page, ".card input").press("Enter");
  await appears(page, ".answer strong", "plan");
  await appears(page, ".answer", "All of it is done.");
  assert.equal(await inView(page, ".card .title", { hasText: "tone" }).count(), 0);
});

editorTest(
  "docs/faults.md 41: a hostile answer loads nothing and runs nothing; its file is a link",
  async ({ page }) => {
    const answer = inView(page, ".answer", { hasText: "All of it is done." });
    const text = await answer.innerText();
    for (const part of ["[image: x]", "<img src=https://example.com/y.png", "<script>", "\\u{202e}"])
      assert.ok(text.includes(part), `${part} in ${text}`);
    assert.equal(await answer.locator("img, script").count(), 0);
    assert.ok(!page.blockedHosts().includes("example.com"));
    assert.equal(await answer.locator("a", { hasText: "Run it" }).getAttribute("href"), null);
    await answer.locator("a", { hasText: "read it" }).click();
    await page.tab("greet.py (proposed)");
  },
);

editorTest("what can be done next is there: the changes to review", async ({ page }) => {
  await appears(page, ".card .title", "1 file to review.");
  await picture(page, "conversation-end");
});
