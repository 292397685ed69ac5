// Agents in files and subagents in a real VS Code: the user chooses an agent among the modes, and sees what subagents do
// below the step and in the conversation.

import assert from "node:assert/strict";
import { conversationSays, edit, picture, plan, useAgent } from "./agent.mjs";

const PLAN = "Plan";
const writer = "---\ndescription: Writes greetings.\n---\nWrite greetings.\n";
const step = (status) => plan(["Greet the world", status, "Greeting the world"]);
const editorTest = useAgent(
  [
    { text: "I only review." },
    { calls: [step("in_progress"), { explore: { title: "Find the greeting", task: "Where is the greeting?" } }] },
    { calls: [{ search: { pattern: "hello" } }] },
    { text: "The greeting is in a.txt:1." },
    { calls: [{ delegate: { agent: "writer", title: "Write it", task: "Write the greeting." } }] },
    { calls: [edit("a.txt", "hello", "hello, world")] },
    { text: "It is written." },
    { calls: [step("completed")] },
    { text: "The world is greeted." },
  ],
  {
    workspace: {
      "a.txt": "hello\n",
      ".claude/agents/reviewer.md": "---\ndescription: Reviews.\ntools: Read, Grep\n---\nReview.\n",
      ".fairlead/agents/writer.md": writer,
    },
    viewport: { width: 1280, height: 1100 },
  },
);

editorTest("an agent in a file is among the modes, and does the task", async ({ page }) => {
  await page.runCommand("Agent: Show Conversation");
  const mode = page.webview().locator("select.mode");
  await mode.locator("option", { hasText: "reviewer" }).waitFor({ state: "attached" });
  assert.deepEqual(await mode.locator("option").allTextContents(), ["Agent", "Plan", "Ask", "reviewer", "writer"]);
  const about = await mode.locator("option").evaluateAll((options) => options.map(({ title }) => title));
  assert.deepEqual([about[0], about[3]], ["do the task", "Reviews."]);
  await mode.selectOption("agent:reviewer");
  await mode.click();
  await picture(page, "agents-mode");
  await page.press("Escape");
  await page.webview().locator("textarea").fill("Look at it.");
  await page.webview().locator("textarea").press("Enter");
  await conversationSays(page, ["I only review."]);
});

editorTest("the conversation unfolds to the report and to what a subagent changed", async ({ page }) => {
  await page.webview().locator("select.mode").selectOption("agent");
  await page.webview().locator("textarea").fill("Greet the world.");
  await page.webview().locator("textarea").press("Enter");
  await conversationSays(page, ["Explore: Find the greeting", "writer: Write it", "The world is greeted."]);
  await page.webview().locator("summary", { hasText: "writer: Write it" }).click();
  await page.webview().locator(".change", { hasText: "hello, world" }).waitFor();
  await conversationSays(page, ["It is written.", "Show What It Did"]);
  await picture(page, "agents-conversation");
});

editorTest("subagents are below their step, and what one did can be read", async ({ page }) => {
  await page.showContainer("Fairlead");
  await page.toggleRow(PLAN, "Greet the world");
  const rows = await page.rows(PLAN, (all) => all.some(({ label }) => label === "Write it"));
  const told = (label) => rows.find((row) => row.label === label)?.description;
  assert.match(told("Find the greeting"), /^explorer · reported/);
  assert.match(told("Write it"), /^writer · reported/);
  await picture(page, "agents-plan");
  await page.clickRow(PLAN, "Find the greeting");
  await page.until("the page", async () => (await page.tabs()).some(({ label }) => label.includes("Subagent.md")));
  await page.webview().locator("p", { hasText: "The greeting is in a.txt:1." }).waitFor();
  await picture(page, "agents-page");
});
