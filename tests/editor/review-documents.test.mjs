// Proposed texts as documents: restored after a reload of the window, saved automatically, read-only if saving would do harm,
// and never closed while they contain unsaved text of the user.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { bash, edit, openAgent, recording, runTask, serverPids, shareAgent } from "./agent.mjs";
import { test } from "./host/registry.mjs";

const VIEW = "Proposed Changes";
const shows =
  (...lines) =>
  (seen) =>
    lines.every((line) => seen.includes(line));

/**
 * Calls `body` in a VS Code in which a run proposes `changes` to `files` and then makes the further `calls`. The run
 * may still be working: `body` is called as soon as the first change is listed.
 */
async function withProposals({ name, files, changes, settings, calls = [] }, body) {
  const replay = recording({ calls: [...changes, ...calls] }, { text: "Proposed." });
  const open = settings ? openAgent : shareAgent;
  const editor = await open({ name, workspace: files, settings: { "fairlead.replay": replay, ...settings } });
  const { page, workspace } = editor;
  try {
    await page.showContainer("Fairlead");
    await runTask(page, "Change the files");
    await page.rows(VIEW);
    await body({ ...editor, disk: (file) => fs.readFileSync(path.join(workspace, file), "utf8") });
  } catch (error) {
    if (!error.artifacts) error.stack += `\nSaved in ${await page.saveArtifacts(error.message)}`;
    throw error;
  } finally {
    await editor.close();
  }
}

const one = { files: { "a.txt": "one\ntwo\n" }, changes: [edit("a.txt", "two", "TWO")] };

async function typeInDiff(page, file, line, text) {
  await page.clickRow(VIEW, file);
  await page.editorFocus();
  await page.diffLines("modified", { wanted: (lines) => lines.some((each) => each.includes(line)) });
  await page.clickDiffLine(line);
  await page.insertText(text);
}

/** The journals of the sessions, as texts. */
const journals = (code) =>
  fs
    .readdirSync(code.userDataDir, { recursive: true })
    .filter((file) => /sessions.[0-9a-f]+\.jsonl$/.test(file))
    .map((file) => fs.readFileSync(path.join(code.userDataDir, file), "utf8"));

/** Whether VS Code has saved a backup of unsaved proposed text. */
const backedUp = (code) =>
  fs.readdirSync(code.userDataDir, { recursive: true }).some((file) => /Backups.*fairlead-proposed./.test(file));

test("unsaved text in a diff is restored after a reload of the window", async () => {
  await withProposals({ name: "kept", ...one }, async ({ page, code, disk }) => {
    await typeInDiff(page, "a.txt", "TWO", "-mine");
    await page.tab("a.txt (proposed)", (tab) => tab.dirty);
    await page.until("VS Code's backup of the unsaved text", () => backedUp(code));
    await page.reload();
    await page.until("the unsaved text", async () =>
      (await page.tabs()).some((tab) => tab.label.startsWith("a.txt") && tab.dirty),
    );
    await page.rows(VIEW, (rows) => rows.some((row) => row.label === "a.txt"));
    await page.clickRow(VIEW, "a.txt");
    await page.editorFocus();
    await page.diffLines("modified", { wanted: shows("TWO-mine") });
    await page.clickDiffLine("TWO-mine");
    await page.press("ControlOrMeta+s");
    await page.until("the text saved", async () => (await page.tabs()).every((tab) => !tab.dirty));
    assert.equal(disk("a.txt"), "one\ntwo\n");
    await page.rowAction(VIEW, "a.txt", "Accept");
    await page.until("the amended text on disk", () => disk("a.txt") === "one\nTWO-mine\n");
  });
});

test("an amended proposal and its diff are restored after a reload of the window", async () => {
  await withProposals({ name: "restored", ...one }, async ({ page, code, disk }) => {
    await page.clickRow(VIEW, "a.txt");
    await page.lenses((titles) => titles.includes("Accept"));
    await typeInDiff(page, "a.txt", "TWO", "-mine");
    await page.lenses((titles) => titles.length === 0); // they would be on wrong lines
    await page.press("ControlOrMeta+s");
    await page.tab("a.txt (proposed)", (tab) => !tab.dirty);
    await page.lenses((titles) => titles.includes("Accept"));
    await page.until("the session is saved", () => journals(code).some((text) => text.includes("TWO-mine")));
    // unlike the browser's own reload, the command lets VS Code save which editors are open
    await Promise.all([page.page.waitForEvent("load"), page.typeCommand("Developer: Reload Window")]);
    await page.tab("a.txt (proposed)");
    await page.rows(VIEW, (rows) => rows.some((row) => row.label === "a.txt"));
    await page.diffLines("modified", { wanted: (lines) => lines.some((line) => line.includes("TWO-mine")) });
    await page.rowAction(VIEW, "a.txt", "Accept");
    await page.until("the amended text on disk", () => disk("a.txt") === "one\nTWO-mine\n");
  });
});

test("a reload after a decision restores at most one diff of all files, with the remaining files", async () => {
  const names = ["a.txt", "b.txt", "c.txt"];
  const three = {
    files: Object.fromEntries(names.map((name) => [name, "one\ntwo\n"])),
    changes: names.map((name) => edit(name, "two", "TWO")),
  };
  await withProposals({ name: "reloaded-review", ...three }, async ({ page, disk }) => {
    await page.rows(VIEW, (rows) => names.every((name) => rows.some(({ label }) => label === name)));
    await page.runCommand("Agent: Review All Changes");
    await page.lenses((titles) => titles.includes("Accept"));
    await page.clickLens("Accept", { file: "a.txt" });
    await page.until("the accepted change", () => disk("a.txt") === "one\nTWO\n");
    // VS Code may have saved its tabs before or while the diff was opened again, or not at all yet
    await page.reload();
    await page.rows(VIEW, (rows) => rows.some(({ label }) => label === "b.txt"));
    await page.until("the count goes on", async () => (await page.viewDescription(VIEW)) === "2 of 3 files left");
    await page.until("no other diff", async () => {
      const tabs = await page.tabs();
      return tabs.length === 0 || (tabs.length === 1 && (await page.diffFiles()).join() === "b.txt,c.txt");
    });
  });
});

test("with the editor's own auto save, the proposal is amended while the user types", async () => {
  // with a delay of at most a second, VS Code does not mark the document as changed
  const settings = { "files.autoSave": "afterDelay", "files.autoSaveDelay": 1200 };
  await withProposals({ name: "autosave", ...one, settings }, async ({ page, disk }) => {
    for (const text of ["-mine", "-more"]) {
      await typeInDiff(page, "a.txt", "TWO", text);
      await page.tab("a.txt (proposed)", (tab) => tab.dirty);
      await page.tab("a.txt (proposed)", (tab) => !tab.dirty);
    }
    await page.rowAction(VIEW, "a.txt", "Accept");
    await page.until("the amended text on disk", () => disk("a.txt") === "one\nTWO-mine-more\n");
  });
});

test("a diff with unsaved text stays open when its file is rejected elsewhere or the server ends", async () => {
  await withProposals({ name: "not-closed", ...one }, async ({ page, code }) => {
    await typeInDiff(page, "a.txt", "TWO", "-mine");
    await page.rowAction(VIEW, "a.txt", "Reject");
    assert.match(await page.welcome(VIEW), /There are no changes to review/);
    await page.diffLines("modified", { wanted: shows("TWO-mine") });
    await page.press("ControlOrMeta+s");
    await page.toast("cannot be saved now");
    const [pid] = serverPids(code);
    process.kill(pid, "SIGKILL");
    await page.until("another server", () => serverPids(code).length === 1 && serverPids(code)[0] !== pid);
    await page.diffLines("modified", { wanted: shows("TWO-mine") });
    await page.tab("a.txt (proposed)", (tab) => tab.dirty);
  });
});

test("a proposal with mixed line endings is read-only in the diff, because saving would change them all", async () => {
  const mixed = { files: { "mixed.txt": "one\r\ntwo\nthree\r\n" }, changes: [edit("mixed.txt", "two", "TWO")] };
  await withProposals({ name: "mixed", ...mixed }, async ({ page, disk }) => {
    await typeInDiff(page, "mixed.txt", "TWO", "-mine");
    await page.diffLines("modified", { wanted: shows("TWO") });
    assert.ok(!(await page.tab("mixed.txt (proposed)")).dirty);
    await page.rowAction(VIEW, "mixed.txt", "Accept");
    await page.until(
      "the change on disk, line endings as they were",
      () => disk("mixed.txt") === "one\r\nTWO\nthree\r\n",
    );
  });
});

test("the setting for another encoding does not apply to proposed texts", async () => {
  const umlauts = { files: { "u.txt": "eins\nzwei\n" }, changes: [edit("u.txt", "zwei", "zwölf")] };
  await withProposals(
    { name: "encoding", ...umlauts, settings: { "files.encoding": "windows1252" } },
    async ({ page }) => {
      await typeInDiff(page, "u.txt", "zwölf", "-größer");
      await page.save();
      await page.rows(VIEW, (rows) => rows.length === 2);
      await page.diffLines("modified", { wanted: shows("eins", "zwölf-größer") });
      await page.runCommand("View: Close Editor");
      await page.clickRow(VIEW, "u.txt");
      await page.diffLines("modified", { wanted: shows("eins", "zwölf-größer") });
    },
  );
});

test("the agent's changes during a run appear at once in a diff without unsaved text", async () => {
  const working = { ...one, changes: [edit("a.txt", "two", "TWO"), bash("true"), edit("a.txt", "TWO", "ZWO")] };
  await withProposals({ name: "shown", ...working, settings: { "fairlead.approvals": "ask" } }, async ({ page }) => {
    await page.clickRow(VIEW, "a.txt");
    await page.diffLines("modified", { wanted: shows("TWO") });
    await page.toastButton("Run “true”", "Reject");
    await page.diffLines("modified", { wanted: shows("ZWO") });
    await page.toast("Proposed.");
    await page.clickDiffLine("ZWO");
    await page.insertText("-mine");
    await page.save();
    await page.diffLines("modified", { wanted: shows("ZWO-mine") });
  });
});
