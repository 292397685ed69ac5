// Agents of other makers in a real VS Code: the user chooses one, reviews what it wrote with its own tools and with its
// own shell, and signs in to one. Its checks prove its steps.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { conversationSays, picture, ROOT, useAgent } from "./agent.mjs";
import { temporaryFile } from "./host/temporary.mjs";

const PLAN = "Plan";
const CHANGES = "Proposed Changes";
const PYTHON = path.join(ROOT, ".venv", "bin", "python");
const AGENT = path.join(ROOT, "tests", "hosted_agents", "acp_agent.py");
const before = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
const step = (status) => ({ plan: [["Fix the numbers", status]] });
const scripted = (title, turns, fields = {}) => {
  const script = temporaryFile("script.json");
  fs.writeFileSync(script, JSON.stringify(turns));
  return { title, command: PYTHON, args: ["-I", "-S", AGENT, script], state: { AGENT_STATE: "" }, ...fields };
};
const agents = {
  claude: scripted(
    "Claude Code",
    [
      [
        { commands: ["init", "review"] },
        { say: "I fix the numbers." },
        step("in_progress"),
        { write: ["a.txt", before.replace("one", "ONE").replace("seven", "SEVEN")] },
        { shell: "echo 'ONE SEVEN' > b.txt" },
        step("completed"),
        { say: " Done." },
      ],
      [step("in_progress"), { shell: "sed -i s/two/fixed/ a.txt" }, step("completed"), { say: "Now it is fixed." }],
    ],
    { hosts: [] },
  ),
  locked: scripted("Locked Agent", [[{ say: "I am in." }]], {
    env: { NO_ACCOUNT: "1" },
    signIn: ["/bin/sh", "-c", 'echo "Welcome"; : > "$AGENT_STATE/account"'],
  }),
  missing: { title: "Missing Agent", command: "no-such-agent" },
};
const editorTest = useAgent([], {
  workspace: { "a.txt": before, "b.txt": "none\n" },
  settings: {
    "fairlead.replay": "",
    "fairlead.agents": agents,
    "fairlead.checks": ["grep -q fixed a.txt"],
    "fairlead.check.agentPrompts": 0,
  },
  viewport: { width: 1280, height: 1000 },
  own: true,
});
const disk = (workspace, file) => fs.readFileSync(path.join(workspace, file), "utf8");
const find = (rows, label) => rows.find((row) => row.label === label);
const who = (page) => page.webview().locator("[data-action=chooseAgent]");
const model = (page) => page.webview().locator("[data-action=chooseModel]");
const shows = (page, button, text) =>
  page.until(`the button ${text}`, async () => (await button(page).textContent()) === text);
const send = async (page, text) => {
  await page.webview().locator("textarea").fill(text);
  await page.webview().locator("textarea").press("Enter");
};
const allow = async (page, question) => {
  await conversationSays(page, [question]);
  await page.webview().locator(".card button", { hasText: "Allow" }).click();
};

editorTest("an agent is chosen below the prompt, and replaces a mode of Fairlead's own", async ({ page }) => {
  await page.showContainer("Fairlead");
  await page.runCommand("Agent: Show Conversation");
  await shows(page, who, "Fairlead");
  await page.webview().locator("select.mode").selectOption("plan");
  await who(page).click();
  const title = "Agent: Choose Agent";
  const { items } = await page.until("the agents", async () => {
    const box = await page.quickInput();
    return box.title === title && box.items.length > 3 && box;
  });
  assert.equal(items[0].label, "Fairlead");
  await picture(page, "hosted-agents-list");
  await page.pick("Missing Agent", { title });
  await page.toast("Missing Agent is not installed. Install the program no-such-agent, and choose it again.");
  await page.closeToast("Missing Agent");
  await page.runCommand("Agent: Choose Agent...");
  await page.pick("Claude Code", { title });
  await shows(page, who, "Claude Code");
  assert.equal(await page.webview().locator("select.mode").inputValue(), "agent");
  assert.equal(await model(page).isVisible(), false, "its model is not known before it works");
});

editorTest(
  "it starts after a question, and what it writes is proposed, also by its shell",
  async ({ page, workspace }) => {
    await send(page, "Fix the numbers");
    await allow(page, "Start this agent?");
    await conversationSays(page, ["I fix the numbers.", "Write a.txt", "echo 'ONE SEVEN' > b.txt", "Done."]);
    const rows = await page.rows(CHANGES, (all) => find(all, "b.txt") && find(all, "Line 7"));
    assert.deepEqual(
      rows.map(({ label }) => label),
      ["a.txt", "Line 1", "Line 7", "b.txt", "Line 1"],
    );
    assert.deepEqual([disk(workspace, "a.txt"), disk(workspace, "b.txt")], [before, "none\n"]);
    await shows(page, model, "Small");
  },
);

editorTest("a step whose check fails stays open", async ({ page }) => {
  await conversationSays(page, ["“Fix the numbers” stays open"]);
  const [row] = await page.rows(PLAN, (all) => find(all, "Fix the numbers"));
  assert.notEqual(row.icon, "pass");
  await picture(page, "hosted-agents-check");
});

editorTest("its changes are accepted and rejected by hunk and by file", async ({ page, workspace }) => {
  await page.rowAction(CHANGES, "Line 1", "Accept");
  await page.until("the hunk on disk", () => disk(workspace, "a.txt") === before.replace("one", "ONE"));
  await page.rowAction(CHANGES, "Line 7", "Reject");
  await page.rowAction(CHANGES, "b.txt", "Reject");
  assert.match(await page.welcome(CHANGES), /There are no changes to review/);
  assert.equal(disk(workspace, "b.txt"), "none\n");
});

editorTest(
  "its next prompt says what was decided and that the check failed; then it passes",
  async ({ page, code }) => {
    await send(page, "Go on");
    await conversationSays(page, ["Now it is fixed."]);
    const state = path.join(code.home, ".local/share/fairlead/agents/state/claude/prompts.jsonl");
    const [, prompt] = fs.readFileSync(state, "utf8").trim().split("\n").map(JSON.parse);
    assert.match(prompt, /not completed: make its check pass/);
    assert.match(prompt, /rejected/);
    assert.match(prompt, /Go on/);
    await page.rows(PLAN, (all) => find(all, "Fix the numbers")?.description === "proved");
    // the box shows it the accepted hunk, and not the rejected one
    await page.rows(CHANGES, (all) => all.map(({ label }) => label).join() === "a.txt,Line 2");
    await picture(page, "hosted-agents-passed");
  },
);

editorTest("its model is chosen below the prompt, and its commands are completed", async ({ page, code }) => {
  await model(page).click();
  await page.pick("Large", { title: "Claude Code" });
  await shows(page, model, "Large");
  assert.equal(
    fs.readFileSync(path.join(code.home, ".local/share/fairlead/agents/state/claude/model"), "utf8"),
    "large",
  );
  await page.statusItem("fairlead.model", ({ text }) => text.includes("Claude Code · Large"));
  const prompt = page.webview().locator("textarea");
  await prompt.click();
  await page.insertText("/in");
  const row = page.webview().locator(".completions li", { hasText: "/init" });
  await row.waitFor();
  assert.match(await row.textContent(), /Does init\./);
  await picture(page, "hosted-agents-command");
  await page.press("Escape");
  await prompt.fill("");
});

editorTest("a missing sign-in is done in a terminal, and the task continues", async ({ page }) => {
  await page.runCommand("Agent: Choose Agent...");
  await page.pick("Locked Agent", { title: "Agent: Choose Agent" });
  await shows(page, who, "Locked Agent");
  await send(page, "Come in");
  await allow(page, "Start this agent?");
  await conversationSays(page, ["needs a sign-in"]);
  await picture(page, "hosted-agents-sign-in");
  await page.webview().locator(".card button", { hasText: "Sign In" }).click();
  await conversationSays(page, ["I am in."]);
});

editorTest("Fairlead works again if the user chooses a mode of its own", async ({ page }) => {
  await page.webview().locator("select.mode").selectOption("ask");
  await shows(page, who, "Fairlead");
  assert.equal(await page.webview().locator("select.mode").inputValue(), "ask");
});
