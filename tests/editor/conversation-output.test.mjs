// The output of a running command in the conversation.

import assert from "node:assert/strict";
import { bash, runTask, useAgent } from "./agent.mjs";

const COMMAND = "seq 1000\nwhile sleep 0.1; do seq 3; done";
const editorTest = useAgent([{ calls: [bash(COMMAND)] }], {
  settings: { "fairlead.approvals": "ask" },
  workspace: { "a.txt": "a\n" },
});

editorTest("while a command prints, its output stays where the user reads it", async ({ page }) => {
  const inView = (selector, options) => page.webview().locator(selector, options);
  await page.showContainer("Fairlead");
  await page.runCommand("Agent: Show Conversation");
  await runTask(page, "Count");
  await inView(".card button", { hasText: "Allow Once" }).click();
  const output = inView(".tool .output");
  await output.waitFor({ state: "attached" });
  await inView(".tool summary").click();
  assert.equal(await inView(".tool pre").first().innerText(), COMMAND);
  const { length, position } = await output.evaluate((box) => {
    box.focus();
    box.scrollTop = -200;
    const selection = document.getSelection();
    selection.setBaseAndExtent(box.firstChild, 10, box.firstChild, 20);
    return { length: box.textContent.length, position: box.scrollHeight + box.scrollTop };
  });
  const later = await page.until("more output", () =>
    output.evaluate((box, before) => {
      if (box.textContent.length < before + 20) return undefined;
      return {
        position: box.scrollHeight + box.scrollTop,
        hasFocus: document.activeElement === box,
        selected: String(document.getSelection()).length,
      };
    }, length),
  );
  assert.deepEqual(later, { position, hasFocus: true, selected: 10 });
  const shown = await output.elementHandle();
  await page.runCommand("Agent: Stop");
  await page.until(
    "the end of the command",
    async () => (await inView(".tool .mark").getAttribute("aria-label")) !== "running",
  );
  assert.ok(await shown.evaluate((box) => box.isConnected), "the same element shows the result");
});
