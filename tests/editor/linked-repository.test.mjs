// A workspace folder that is a symbolic link to a repository whose real path is the only one that Git reports.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { conversationSays, runTask, useAgent } from "./agent.mjs";
import { temporaryFile } from "./host/temporary.mjs";

const real = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-real-"));
process.on("exit", () => fs.rmSync(real, { recursive: true, force: true }));
// the minimum that Git accepts as a repository
const FILES = {
  "app/问候.md": "new\n",
  ".git/HEAD": "ref: refs/heads/topic\n",
  ".git/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
  ".git/objects/info/packs": "",
  ".git/refs/heads/.keep": "",
};
for (const [name, text] of Object.entries(FILES)) {
  fs.mkdirSync(path.dirname(path.join(real, name)), { recursive: true });
  fs.writeFileSync(path.join(real, name), text);
}
const link = temporaryFile("linked");
fs.symlinkSync(real, link);
// VS Code asks Git for the path without symbolic links only if Git is new enough
const oldGit = temporaryFile("old-git");
fs.writeFileSync(oldGit, '#!/bin/sh\n[ "$1" = --version ] && exec echo git version 2.30.0\nexec git "$@"\n', {
  mode: 0o755,
});

const editorTest = useAgent([{ text: "Looks good." }], {
  workspace: { "one.code-workspace": JSON.stringify({ folders: [{ path: link }] }) },
  settings: { "git.path": oldGit },
  viewport: { width: 1400, height: 1000 },
  own: true,
});

editorTest("#changes sends the changes, with the names that Git gives the files", async ({ page }) => {
  await page.runCommand("Source Control: Focus on Changes View");
  await page.page.locator(".scm-input, .scm-editor").first().waitFor();
  await runTask(page, "Review #changes");
  await page.toast("Looks good.");
  await page.closeToast("Looks good.");
  await page.runCommand("Agent: Show Conversation in Editor");
  await page.webview().locator("summary", { hasText: "Context: " }).first().click();
  await conversationSays(page, ["Git branch: topic", "diff --git a/app/问候.md b/app/问候.md"]);
});
