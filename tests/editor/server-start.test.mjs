// A server that cannot start: the next task starts it as soon as that is possible.

import fs from "node:fs";
import { copiedExtension, runTask, useAgent } from "./agent.mjs";

const { extension, python } = copiedExtension();
const editorTest = useAgent([{ text: "First." }], {
  workspace: { "a.txt": "a\n" },
  extensions: [extension],
  own: true,
});
const removePython = () => fs.renameSync(python, `${python}.removed`);
const restorePython = () => fs.renameSync(`${python}.removed`, python);

editorTest(
  "after a failed start, the next task starts the server while the error message is open",
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
