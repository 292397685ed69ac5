// A workspace folder that is not in a repository, but contains several.

import assert from "node:assert/strict";
import fs from "node:fs";
import { conversationSays, edit, runTask, useAgent } from "./agent.mjs";

// the minimum that Git accepts as a repository
const repository = (folder) => ({
  [`${folder}/.git/HEAD`]: "ref: refs/heads/topic\n",
  [`${folder}/.git/config`]: "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
  [`${folder}/.git/objects/info/packs`]: "",
  [`${folder}/.git/refs/heads/.keep`]: "",
});
const editorTest = useAgent([{ calls: [edit("one/a.txt", "a", "b")] }, { text: "Changed." }], {
  workspace: { "one/a.txt": "a\n", "two/b.txt": "b\n", ...repository("one"), ...repository("two") },
  viewport: { width: 1400, height: 1000 },
  own: true,
});
const provider = (page, name) => page.page.locator(".scm-provider", { hasText: name });

editorTest("the agent learns the branches of all repositories, and #changes sends their changes", async ({ page }) => {
  await page.runCommand("Source Control: Focus on Changes View");
  for (const name of ["one", "two"]) await provider(page, name).first().waitFor();
  await runTask(page, "Review #changes");
  await page.toast("Changed.");
  await page.closeToast("Changed.");
  await page.runCommand("Agent: Show Conversation in Editor");
  await conversationSays(page, ["Context: the uncommitted changes (git diff)"]);
  await page.webview().locator("summary", { hasText: "Context: " }).first().click();
  await conversationSays(page, [
    "Git branch: topic (one), topic (two)",
    "diff --git a/one/a.txt b/one/a.txt",
    "diff --git a/two/b.txt b/two/b.txt",
  ]);
});

editorTest("the button of a repository writes the commit message into its own box", async ({ page, workspace }) => {
  await page.runCommand("Agent: Accept All");
  await page.until("the change on disk", () => fs.readFileSync(`${workspace}/one/a.txt`, "utf8") === "b\n");
  await page.runCommand("View: Close All Editors");
  await page.runCommand("Source Control: Focus on Changes View");
  await page.runCommand("Agent: Commit Message from Record");
  const { items } = await page.until("the question", async () => {
    const box = await page.quickInput();
    return box.items.length === 2 && box;
  });
  assert.deepEqual(
    items.map(({ label }) => label),
    ["one", "two"],
  );
  await page.press("Escape");
  const title = provider(page, "two").first();
  await page.until("the button", async () => {
    await title.hover();
    await title.getByRole("button", { name: "Commit Message from Record" }).click({ timeout: 1000 });
    return true;
  });
  const boxes = page.page.locator(".scm-editor .view-lines");
  await page.until("the message", async () => {
    const texts = await boxes.allInnerTexts();
    return texts.length === 2 && texts[0].trim() === "" && texts[1].trim() !== "";
  });
});
