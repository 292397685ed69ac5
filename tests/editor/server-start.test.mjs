// If the server could not be started or restarted, the next task starts it as soon as that is possible.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { copiedExtension, runTask, serverPids, useAgent } from "./agent.mjs";

const { extension, python } = copiedExtension();
const editorTest = useAgent([{ text: "First." }], {
  workspace: { "a.txt": "a\n" },
  extensions: [extension],
  own: true,
});
const removePython = () => fs.renameSync(python, `${python}.removed`);
const restorePython = () => fs.renameSync(`${python}.removed`, python);

editorTest(
  "after a failed start, the next task starts the server even while the error message is open",
  async ({ page }) => {
    removePython();
    await runTask(page, "Too early");
    await page.toast("Fairlead's server could not be started.");
    restorePython();
    await runTask(page, "Now");
    await page.toast("First.");
    await page.runCommand("Notifications: Clear All Notifications");
  },
);

editorTest("after the server has ended and a restart has failed, the next task starts it", async ({ page, code }) => {
  removePython();
  for (const pid of serverPids(code)) process.kill(pid, "SIGKILL");
  await page.toast("Fairlead's server ended, and could not be started again.");
  assert.deepEqual(serverPids(code), []);
  restorePython();
  await page.runCommand("Notifications: Clear All Notifications");
  await runTask(page, "Again");
  await page.toast("First.");
});

editorTest("a server that ends while it is starting is not started again without a task", async ({ page, code }) => {
  const script = fs.readFileSync(python, "utf8");
  const hasFailed = path.join(extension, "has-failed");
  await page.runCommand("Notifications: Clear All Notifications");
  fs.writeFileSync(python, script.replace("exec", `[ -e '${hasFailed}' ] || { touch '${hasFailed}'; exit 1; }\nexec`));
  await page.runCommand("Agent: Stop and Restart Server");
  await page.toast("Fairlead's server could not be started. It ended while it was starting.");
  assert.equal((await page.toasts()).length, 1);
  await page.runCommand("Notifications: Clear All Notifications");
  await runTask(page, "Once");
  await page.toast("First.");
  assert.equal(serverPids(code).length, 1);
});

editorTest("a task that fails to start while its conversation is hidden is in the prompt again", async ({ page }) => {
  const prompt = page.webview().locator("textarea");
  const mayFail = path.join(extension, "may-fail");
  await page.runCommand("Notifications: Clear All Notifications");
  fs.writeFileSync(python, `#!/bin/sh\nuntil [ -e '${mayFail}' ]; do sleep 0.1; done\nexit 1\n`);
  await page.runCommand("Agent: Stop and Restart Server");
  await page.runCommand("Agent: Show Conversation");
  await prompt.fill("Do not lose this");
  await prompt.press("Enter");
  await page.until("an empty prompt", async () => (await prompt.inputValue()) === "");
  await page.runCommand("View: Toggle Secondary Side Bar Visibility");
  await page.until("no conversation", async () => (await page.page.locator("iframe.webview.ready").count()) === 0);
  fs.writeFileSync(mayFail, "");
  await page.toast("Fairlead's server could not be started.");
  await page.runCommand("Agent: Show Conversation");
  await page.until("the text", async () => (await prompt.inputValue()) === "Do not lose this");
});
