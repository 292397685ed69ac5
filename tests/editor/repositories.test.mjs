// Git in a workspace with a package of a monorepo, whose repository begins above the folder, another repository, and
// symbolic links to a repository and to a folder that contains one, with a Git that reports only real paths.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { conversationSays, edit, runTask, useAgent } from "./agent.mjs";
import { writeFiles } from "./host/editor.mjs";
import { temporaryFile } from "./host/temporary.mjs";

// the minimum that Git accepts as a repository
const repository = (folder) => ({
  [`${folder}.git/HEAD`]: "ref: refs/heads/topic\n",
  [`${folder}.git/config`]: "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
  [`${folder}.git/objects/info/packs`]: "",
  [`${folder}.git/refs/heads/.keep`]: "",
});
const real = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-real-"));
process.on("exit", () => fs.rmSync(real, { recursive: true, force: true }));
writeFiles(real, {
  ...repository("real-one/"),
  "real-one/app/问候.md": "new\n",
  ...repository("several/two/"),
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

const editorTest = useAgent([{ calls: [edit("other/c.txt", "new", "newer")] }, { text: "Changed." }], {
  workspace: {
    "all.code-workspace": JSON.stringify({
      folders: [
        { path: "pkg/app" },
        { path: "other" },
        { path: linkTo("real-one"), name: "one" },
        { path: linkTo("several"), name: "several" },
      ],
    }),
    "pkg/app/问候.md": "old\n",
    "pkg/lib/b.txt": "old\n",
    "other/c.txt": "new\n",
    ...repository(""),
    ...repository("other/"),
  },
  settings: { "git.openRepositoryInParentFolders": "always" },
  env: { PATH: `${path.dirname(oldGit)}${path.delimiter}${process.env.PATH}` },
  viewport: { width: 1400, height: 1800 },
  own: true,
});
const provider = (page, name) => page.page.locator(".scm-provider", { hasText: name }).first();

editorTest(
  "#changes and the branches name what changed in all repositories, by the workspace's paths",
  async (editor) => {
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
    // if the path contained the link, VS Code would show the name of the workspace folder instead of "real-one"
    for (const name of [path.basename(root), "other", "real-one", "two"]) await provider(page, name).waitFor();
    await runTask(page, "Review #changes");
    await page.toast("Changed.");
    await page.closeToast("Changed.");
    await page.runCommand("Agent: Show Conversation in Editor");
    await conversationSays(page, ["Context: the uncommitted changes (git diff)"]);
    await page.webview().locator("summary", { hasText: "Context: " }).first().click();
    const text = await conversationSays(page, [
      "topic (app)",
      "topic (other)",
      "topic (one)",
      "topic (several/two)",
      "- modified app/问候.md",
      "- untracked other/c.txt",
      "diff --git a/app/问候.md b/app/问候.md",
      "diff --git a/other/c.txt b/other/c.txt",
      "diff --git a/one/app/问候.md b/one/app/问候.md",
      "diff --git a/several/two/b.txt b/several/two/b.txt",
    ]);
    assert.ok(!text.includes("lib/b.txt"), text);
  },
);

editorTest("the button of a repository writes the commit message into its own box", async ({ page }) => {
  await page.runCommand("Agent: Accept All");
  await page.rows("Proposed Changes", (rows) => rows.length === 0);
  await page.runCommand("View: Close All Editors");
  await page.runCommand("Source Control: Focus on Changes View");
  await page.runCommand("Agent: Commit Message from Record");
  await page.until("the question", async () => {
    const labels = (await page.quickInput()).items.map(({ label }) => label);
    return labels.join() === "app,other,one,several/two";
  });
  await page.press("Escape");
  const title = provider(page, "other");
  await page.until("the button", async () => {
    await title.hover();
    await title.getByRole("button", { name: "Commit Message from Record" }).click({ timeout: 1000 });
    return true;
  });
  /** The texts of the boxes, each after the name of its repository. */
  const boxes = (rows) =>
    rows
      .map((row) => [row.getBoundingClientRect().top, row.querySelector(".scm-provider, .scm-editor .view-lines")])
      .filter(([, part]) => part !== null)
      .sort(([one], [other]) => one - other)
      .map(([, part]) => part.innerText.trim());
  await page.until("the message", async () => {
    const texts = await page.page.locator(".scm-view .monaco-list-row").evaluateAll(boxes);
    const after = (name) => texts[texts.findIndex((text) => text.startsWith(name)) + 1];
    return after("other") !== "" && after("two") === "" && after("real-one") === "";
  });
});
