// A workspace with a package of a monorepo, whose repository begins above the folder, and another repository.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { conversationSays, runTask, useAgent } from "./agent.mjs";
import { temporaryFile } from "./host/temporary.mjs";

// the minimum that Git accepts as a repository
const repository = (folder) => ({
  [`${folder}.git/HEAD`]: "ref: refs/heads/topic\n",
  [`${folder}.git/config`]: "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
  [`${folder}.git/objects/info/packs`]: "",
  [`${folder}.git/refs/heads/.keep`]: "",
});
const editorTest = useAgent([{ text: "Looks good." }], {
  workspace: {
    "two.code-workspace": JSON.stringify({ folders: [{ path: "pkg/app" }, { path: "other" }] }),
    "pkg/app/问候.md": "old\n",
    "pkg/lib/b.txt": "old\n",
    "other/c.txt": "new\n",
    ...repository(""),
    ...repository("other/"),
  },
  settings: { "git.openRepositoryInParentFolders": "always" },
  viewport: { width: 1400, height: 1000 },
  own: true,
});

editorTest("#changes and the state of Git name what changed in the workspace, by its paths", async (editor) => {
  const { page, workspace } = editor;
  const root = path.dirname(workspace);
  const config = temporaryFile("config");
  fs.writeFileSync(config, "[user]\n\tname = A\n\temail = a\n");
  // not the developer's configuration, which may sign commits or run hooks
  const env = { ...process.env, GIT_CONFIG_GLOBAL: config, GIT_CONFIG_NOSYSTEM: "1" };
  const git = (...args) => execFileSync("git", args, { cwd: root, env, stdio: "ignore" });
  git("add", "pkg");
  git("commit", "-m", "First");
  for (const name of ["app/问候.md", "lib/b.txt"]) fs.writeFileSync(path.join(root, "pkg", name), "new\n");
  await page.runCommand("Source Control: Focus on Changes View");
  for (const name of [path.basename(root), "other"])
    await page.page.locator(".scm-provider", { hasText: name }).first().waitFor();
  await runTask(page, "Review #changes");
  await page.toast("Looks good.");
  await page.closeToast("Looks good.");
  await page.runCommand("Agent: Show Conversation in Editor");
  await conversationSays(page, ["Context: the uncommitted changes (git diff)"]);
  await page.webview().locator("summary", { hasText: "Context: " }).first().click();
  const text = await conversationSays(page, [
    "Git branch: topic (app), topic (other)",
    "Uncommitted changes: 2 files, among them",
    "- modified app/问候.md",
    "- untracked other/c.txt",
    "diff --git a/app/问候.md b/app/问候.md",
    "+++ b/app/问候.md",
    "diff --git a/other/c.txt b/other/c.txt",
  ]);
  assert.ok(!text.includes("b.txt"), text);
});
