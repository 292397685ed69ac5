// Workspace folders that are symbolic links, with a Git that reports only the real paths of repositories.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { conversationSays, runTask, useAgent } from "./agent.mjs";
import { writeFiles } from "./host/editor.mjs";
import { temporaryFile } from "./host/temporary.mjs";

// the minimum that Git accepts as a repository
const repository = (folder) => ({
  [`${folder}/.git/HEAD`]: "ref: refs/heads/topic\n",
  [`${folder}/.git/config`]: "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
  [`${folder}/.git/objects/info/packs`]: "",
  [`${folder}/.git/refs/heads/.keep`]: "",
});
const real = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-real-"));
process.on("exit", () => fs.rmSync(real, { recursive: true, force: true }));
writeFiles(real, {
  ...repository("real-one"),
  "real-one/app/问候.md": "new\n",
  ...repository("several/two"),
  "several/two/b.txt": "new\n",
});
const linkTo = (name) => {
  const link = temporaryFile("linked");
  fs.symlinkSync(path.join(real, name), link);
  return link;
};
// VS Code asks for the path with the link only if Git reports at least version 2.31. The program is in PATH, because a
// remote window ignores `git.path` in the user's settings once the definition of that setting is loaded.
const oldGit = temporaryFile("git");
fs.writeFileSync(
  oldGit,
  `#!/bin/sh
[ "$1" = --version ] && exec echo git version 2.30.0
PATH='${process.env.PATH}'
exec git "$@"
`,
  { mode: 0o755 },
);

const editorTest = useAgent([{ text: "Looks good." }], {
  workspace: {
    "two.code-workspace": JSON.stringify({
      folders: [
        { path: linkTo("real-one"), name: "one" },
        { path: linkTo("several"), name: "several" },
      ],
    }),
  },
  env: { PATH: `${path.dirname(oldGit)}${path.delimiter}${process.env.PATH}` },
  viewport: { width: 1400, height: 1000 },
  own: true,
});

editorTest("the agent learns the changes in folders that are symbolic links", async ({ page }) => {
  await page.runCommand("Source Control: Focus on Changes View");
  // if the path contained the link, VS Code would show the name of the workspace folder instead of "real-one"
  for (const name of ["real-one", "two"]) await page.page.locator(".scm-provider", { hasText: name }).first().waitFor();
  await runTask(page, "Review #changes");
  await page.toast("Looks good.");
  await page.closeToast("Looks good.");
  await page.runCommand("Agent: Show Conversation in Editor");
  await page.webview().locator("summary", { hasText: "Context: " }).first().click();
  await conversationSays(page, [
    "Git branch: topic (one), topic (several/two)",
    "- untracked one/app/问候.md",
    "- untracked several/two/b.txt",
    "diff --git a/one/app/问候.md b/one/app/问候.md",
    "diff --git a/several/two/b.txt b/several/two/b.txt",
  ]);
});
