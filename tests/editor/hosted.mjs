// What the tests of hosted agents share: one with the agent of the tests, and one with the real Claude Code. The agent
// rewrites a.txt in two places and b.txt with its shell, and its check fails until its second prompt.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { conversationSays } from "./agent.mjs";

export const PLAN = "Plan";
export const CHANGES = "Proposed Changes";
export const CHOOSE = "Agent: Choose Agent";
export const STEP = "Fix the numbers";
export const CHECK = "grep -q fixed a.txt";
const BEFORE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
export const FILES = { "a.txt": BEFORE, "b.txt": "none\n" };
/** What its shell does for each of the two prompts. */
export const CAPITALS = "sed -i 's/one/ONE/; s/seven/SEVEN/' a.txt; echo 'ONE SEVEN' > b.txt";
export const REPAIR = "sed -i s/two/fixed/ a.txt";

const disk = (workspace, file) => fs.readFileSync(path.join(workspace, file), "utf8");
export const find = (rows, label) => rows.find((row) => row.label === label);
export const who = (page) => page.webview().locator("[data-action=chooseAgent]");
export const model = (page) => page.webview().locator("[data-action=chooseModel]");
export const shows = (page, button, text) =>
  page.until(`the button ${text}`, async () => (await button(page).textContent()) === text);

/** Shows the conversation, and waits until it is there: it takes the focus then. */
export async function showConversation(page) {
  await page.runCommand("Agent: Show Conversation");
  await shows(page, who, "Fairlead");
}

/** Chooses an agent in the conversation that is shown. */
export async function choose(page, name) {
  await page.runCommand("Agent: Choose Agent...");
  await page.pick(name, { title: CHOOSE });
  await shows(page, who, name);
}

/** Sends a prompt from the conversation. */
export async function send(page, text) {
  await page.webview().locator("textarea").fill(text);
  await page.webview().locator("textarea").press("Enter");
}

/** Allows what the conversation asks. */
export async function allow(page, question) {
  await conversationSays(page, [question]);
  await page.webview().locator(".card button", { hasText: "Allow" }).click();
}

/** What it wrote is proposed, by hunk, and the files on disk stay as they are. */
export async function proposes(page, workspace) {
  const rows = await page.rows(CHANGES, (all) => find(all, "b.txt") && find(all, "Line 7"));
  assert.deepEqual(
    rows.map(({ label }) => label),
    ["a.txt", "Line 1", "Line 7", "b.txt", "Line 1"],
  );
  assert.deepEqual([disk(workspace, "a.txt"), disk(workspace, "b.txt")], [BEFORE, "none\n"]);
}

/** The step that it completed stays open, because its check failed. */
export async function staysOpen(page) {
  await conversationSays(page, [`“${STEP}” stays open`]);
  const [row] = await page.rows(PLAN, (all) => find(all, STEP));
  assert.notEqual(row.icon, "pass");
}

/** The user accepts one hunk of a.txt, and rejects the other one and b.txt. */
export async function decides(page, workspace) {
  await page.rowAction(CHANGES, "Line 1", "Accept");
  await page.until("the hunk on disk", () => disk(workspace, "a.txt") === BEFORE.replace("one", "ONE"));
  await page.rowAction(CHANGES, "Line 7", "Reject");
  await page.rowAction(CHANGES, "b.txt", "Reject");
  assert.match(await page.welcome(CHANGES), /There are no changes to review/);
  assert.equal(disk(workspace, "b.txt"), "none\n");
}

/** The check passes now. Its box had the accepted hunk and not the rejected one, so only the repair is proposed. */
export async function passes(page) {
  await page.rows(PLAN, (all) => find(all, STEP)?.description === "proved");
  await page.rows(CHANGES, (all) => all.map(({ label }) => label).join() === "a.txt,Line 2");
}

/** The agent's second prompt says what was decided, that the check failed, and what the user wrote. */
export function saysAll(prompt, text) {
  assert.match(prompt, /not completed: make its check pass/);
  assert.match(prompt, /rejected/);
  assert.ok(prompt.includes(text));
}
