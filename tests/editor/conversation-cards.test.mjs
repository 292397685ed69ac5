// The cards of the conversation in a low window: their beginning is visible, and the user can reach their buttons.

import { bash, picture, runTask, useAgent } from "./agent.mjs";

const OPTIONS = Array.from({ length: 14 }, (_, index) => `Option ${index + 1}: ${"a long way to say it ".repeat(4)}`);
const COMMAND = Array.from({ length: 40 }, (_, index) => `echo line ${index + 1}`).join("\n");
const long = (text) => `${text}\n\n`.repeat(30);
const editorTest = useAgent(
  [
    { text: long("I ask first."), calls: [{ ask_user: { question: "Which tone?", options: OPTIONS } }] },
    { text: long("I know enough."), calls: [bash(COMMAND)] },
    { text: long("All of it is done.") },
  ],
  { workspace: { "greet.py": "print('Hello')\n" }, settings: { "fairlead.approvals": "ask" } },
);
const inView = (page, selector, options) => page.webview().locator(selector, options);

/** The share of an element that the user sees, from 0 to 1. */
const visibleShare = (element) =>
  element.evaluate(
    (target) =>
      new Promise((resolve) => {
        new IntersectionObserver(([entry], observer) => {
          observer.disconnect();
          resolve(entry.intersectionRatio);
        }).observe(target);
      }),
  );
const sees = (page, selector, hasText) =>
  page.until(
    `${hasText} in sight`,
    async () => (await visibleShare(inView(page, selector, { hasText }).first())) > 0.9,
  );
const isAtEnd = ({ scrollTop, scrollHeight, clientHeight }) => scrollHeight - scrollTop - clientHeight < 2;
const seesEnd = (page) => page.until("the end of the conversation", () => inView(page, ".scroller").evaluate(isAtEnd));

editorTest(
  "the beginning of a question with many options is visible, and so is the box below them",
  async ({ page }) => {
    await page.setSize({ width: 900, height: 640 });
    await page.showContainer("Fairlead");
    await page.runCommand("Agent: Show Conversation");
    await runTask(page, "Greet me politely");
    await sees(page, ".card .title", "Which tone?");
    await sees(page, ".card button", "Option 1:");
    await sees(page, ".card button", "Answer");
    await picture(page, "card-question");
  },
);

editorTest("the view still follows its end after the user scrolls in the options", async ({ page }) => {
  const options = inView(page, ".card .buttons");
  await options.hover();
  await page.page.mouse.wheel(0, 150);
  await page.until("other options", () => options.evaluate(({ scrollTop }) => scrollTop > 100));
  await page.page.mouse.wheel(0, -100);
  await page.until("the options above", () => options.evaluate(({ scrollTop }) => scrollTop <= 100));
  await page.setSize({ width: 900, height: 420 });
  await seesEnd(page);
  await sees(page, ".card .title", "Which tone?");
});

editorTest(
  "when the question of another session replaces the first card, its beginning is visible",
  async ({ page }) => {
    await runTask(page, `Another task ${"in many words ".repeat(10)}`);
    await inView(page, "h1", { hasText: "Another task" }).waitFor();
    await sees(page, ".card .title", "Which tone?");
    // the view is too low for both cards, so the list of cards scrolls to this button
    const show = inView(page, ".card button", { hasText: "Show" });
    await show.evaluate((button) => {
      button.scrollIntoView();
      button.click(); // not with the mouse, because messages of VS Code are above it
    });
    await inView(page, "h1", { hasText: "Greet me politely" }).waitFor();
    await sees(page, ".card .title", "Which tone?");
    // what the user types while the agent asks is the answer
    await inView(page, "textarea").fill("Just friendly");
    await inView(page, "textarea").press("Enter");
  },
);

editorTest("the beginning of a long command is visible, and so are the buttons", async ({ page }) => {
  await page.setSize({ width: 900, height: 640 });
  await sees(page, ".card .title", "The agent asks to run this command.");
  for (const label of ["Allow Once", "Allow for This Session", "Reject"]) await sees(page, ".card button", label);
  await picture(page, "card-approval");
  await page.setSize({ width: 900, height: 400 });
  await sees(page, ".card .title", "The agent asks to run this command.");
  await picture(page, "card-approval-low");
  await inView(page, ".card button", { hasText: "Allow Once" }).press("Enter");
  await inView(page, ".answer", { hasText: "All of it is done." }).waitFor();
  await seesEnd(page);
});
