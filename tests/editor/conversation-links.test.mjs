// What the links of the conversation open.

import { runTask, useAgent } from "./agent.mjs";

const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
// below each other, because a button covers the first line under the pointer
const LINKS = ["src/a.txt#L2", "./src/", "logo.png", "none.txt"].map((to) => `- [${to}](${to})`).join("\n");
const editorTest = useAgent([{ text: `Here it is:\n\n${LINKS}` }], {
  workspace: { "src/a.txt": "one\ntwo\n", "src/b.txt": "", "logo.png": PICTURE },
});
const inView = (page, selector, options) => page.webview().locator(selector, options);
const clickLink = (page, text) => inView(page, ".answer a", { hasText: text }).click();

editorTest("a link opens a file at its line, shows a folder in the Explorer, and opens a picture", async ({ page }) => {
  await runTask(page, "Where is it?");
  await page.runCommand("Agent: Show Conversation");
  await clickLink(page, "src/a.txt#L2");
  await page.tab("a.txt");
  await page.statusItem("status.editor.selection", ({ text }) => text.includes("Ln 2"));
  await clickLink(page, "./src/");
  await page.page.locator(".explorer-folders-view .monaco-list-row.selected", { hasText: "src" }).waitFor();
  await clickLink(page, "none.txt");
  await page.toast("none.txt cannot be opened.");
  await page.closeToast("none.txt cannot be opened.");
  await clickLink(page, "logo.png");
  await page.tab("logo.png");
});
