// How long after Enter the user sees that a task has begun, in the real VS Code:
//   node tests/editor/run.mjs benchmarks/editor/first-sign.test.mjs
// The user needs some seconds to type a task; VS Code and the server have started by then.

import { setTimeout as pause } from "node:timers/promises";
import { edit, useAgent } from "../../tests/editor/agent.mjs";

const STARTED = 10_000;
const TYPED = 3_000;
const editorTest = useAgent([{ calls: [edit("a.txt", "old", "new")] }, { text: "Done." }], {
  workspace: { "a.txt": "old\n" },
});

editorTest("the first task of a window", async ({ page }, context) => {
  await pause(STARTED);
  await page.runCommand("Agent: Run Task");
  await page.quickInput("Agent: Run Task");
  await pause(TYPED);
  await page.insertText("Change the file");
  await page.page.evaluate(watch);
  await page.press("Enter");
  await page.toast("Done.");
  for (const [what, time] of await page.page.evaluate(() => window.seen))
    context.diagnostic(`figure: ${what}: ${time} ms`);
});

/** Notes in the page when the box has gone, when the status bar first changes, and when the end is reported. */
function watch() {
  window.seen = [];
  const status = () => document.querySelector(".statusbar .right-items, .statusbar .left-items")?.textContent;
  const signs = {
    "the box has gone": () => document.querySelector(".quick-input-widget")?.style.display === "none",
    "the status bar shows the task": () => status() !== before,
    "the end is reported": () => document.querySelector(".notifications-toasts")?.textContent.includes("Done."),
  };
  const before = status();
  let start;
  document.addEventListener("keydown", ({ key }) => (start ??= key === "Enter" ? performance.now() : undefined), true);
  new MutationObserver(() => {
    for (const [what, isSeen] of Object.entries(signs)) {
      if (start === undefined || !isSeen()) continue;
      window.seen.push([what, Math.round(performance.now() - start)]);
      delete signs[what];
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
}
