// Skills and commands in a real VS Code: the user completes one after a /, the agent gets it, and a page lists all.

import assert from "node:assert/strict";
import { conversationSays, picture, useAgent } from "./agent.mjs";

const GREET = "---\ndescription: Greets somebody.\nargument-hint: <name>\n---\nWrite a greeting for $0.\n";
const editorTest = useAgent([{ text: "Hello." }], {
  workspace: {
    ".agents/skills/greet/SKILL.md": GREET,
    ".claude/commands/fix-issue.md": "Fix issue $1.\n",
    ".github/prompts/broken.prompt.md": "---\ndescription: Broken.\n---\n",
  },
  viewport: { width: 1280, height: 900 },
});

editorTest("a skill is completed with its arguments, and the agent gets its instructions", async ({ page }) => {
  await page.runCommand("Agent: Show Conversation");
  const prompt = page.webview().locator("textarea");
  await prompt.click();
  await page.insertText("/gr");
  const row = page.webview().locator(".completions li", { hasText: "/greet <name>" });
  await row.waitFor();
  assert.match(await row.textContent(), /Greets somebody\./);
  await picture(page, "skills-completion");
  await page.press("Tab");
  await page.insertText("Ada");
  await page.press("Enter");
  await conversationSays(page, ["/greet Ada", "Hello."]);
  await page.webview().locator("summary", { hasText: "Context: The skill greet" }).click();
  await conversationSays(page, ["Write a greeting for Ada."]);
});

editorTest("the box of Run Task completes a skill, takes its arguments, and runs it", async ({ page }) => {
  await page.runCommand("Agent: Run Task");
  await page.fillInput("/", { title: "Agent: Run Task", accept: false });
  const labels = async () => {
    const texts = await page.page.locator(".quick-input-list .label-name").allTextContents();
    return texts.map((text) => text.trim()).sort();
  };
  await page.until("the skills", async () => (await labels()).join() === "/fix-issue,/greet,Run");
  await picture(page, "skills-box");
  await page.insertText("gr");
  await page.until("the skill", async () => (await labels()).join() === "/greet,Run");
  await page.press("Enter");
  await page.until("the completed name", async () => (await page.quickInput()).value === "/greet ");
  await page.insertText("Bob");
  await page.press("Enter");
  await conversationSays(page, ["/greet Bob", "Hello."]);
  await page.webview().locator("summary", { hasText: "Context: The skill greet" }).click();
  await conversationSays(page, ["Write a greeting for Bob."]);
});

editorTest("/skills shows all of them, and what is wrong with a file", async ({ page }) => {
  const prompt = page.webview().locator("textarea");
  await prompt.fill("/skills ");
  await prompt.press("Enter");
  await page.until("the page", async () => (await page.tabs()).some(({ label }) => label.includes("Skills.md")));
  const preview = page.webview().locator("h2", { hasText: "Skills of this workspace" });
  await preview.waitFor();
  await picture(page, "skills-page");
});

editorTest("the problem of a file is shown in the file until it is gone", async ({ page }) => {
  await page.openFile("broken.prompt.md");
  await page.until("the squiggle", () => page.page.locator(".squiggly-error").count());
  await picture(page, "skills-problem");
  await page.editorFocus();
  await page.press("Control+End");
  await page.insertText("Fix it.");
  await page.until("no squiggle", async () => (await page.page.locator(".squiggly-error").count()) === 0);
});
