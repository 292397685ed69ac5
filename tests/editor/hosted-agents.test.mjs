// Agents of other makers in a real VS Code: the user chooses one, reviews what it wrote with its own tools and with its
// own shell, and signs in to one. Its checks prove its steps.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { conversationSays, picture, ROOT, useAgent } from "./agent.mjs";
import {
  allow,
  CHECK,
  choose,
  CHOOSE,
  decides,
  FILES,
  model,
  passes,
  proposes,
  REPAIR,
  saysAll,
  send,
  showConversation,
  shows,
  STEP,
  staysOpen,
  who,
} from "./hosted.mjs";
import { temporaryFile } from "./host/temporary.mjs";

const PYTHON = path.join(ROOT, ".venv", "bin", "python");
const AGENT = path.join(ROOT, "tests", "hosted_agents", "acp_agent.py");
const step = (status) => ({ plan: [[STEP, status]] });
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
        { write: ["a.txt", FILES["a.txt"].replace("one", "ONE").replace("seven", "SEVEN")] },
        { shell: "echo 'ONE SEVEN' > b.txt" },
        step("completed"),
        { say: " Done." },
      ],
      [step("in_progress"), { shell: REPAIR }, step("completed"), { say: "Now it is fixed." }],
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
  workspace: FILES,
  settings: {
    "fairlead.replay": "",
    "fairlead.agents": agents,
    "fairlead.checks": [CHECK],
    "fairlead.check.agentPrompts": 0,
  },
  viewport: { width: 1280, height: 1000 },
  own: true,
});

editorTest("an agent is chosen below the prompt, and replaces a mode of Fairlead's own", async ({ page }) => {
  await page.showContainer("Fairlead");
  await showConversation(page);
  await page.webview().locator("select.mode").selectOption("plan");
  await who(page).click();
  const { items } = await page.until("the agents", async () => {
    const box = await page.quickInput();
    return box.title === CHOOSE && box.items.length > 3 && box;
  });
  assert.equal(items[0].label, "Fairlead");
  await picture(page, "hosted-agents-list");
  await page.pick("Missing Agent", { title: CHOOSE });
  await page.toast("Missing Agent is not installed. Install the program no-such-agent, and choose it again.");
  await page.closeToast("Missing Agent");
  await choose(page, "Claude Code");
  assert.equal(await page.webview().locator("select.mode").inputValue(), "agent");
  assert.equal(await model(page).isVisible(), false, "its model is not known before it works");
});

editorTest(
  "it starts after a question, and what it writes is proposed, also by its shell",
  async ({ page, workspace }) => {
    await send(page, "Fix the numbers");
    await allow(page, "Start this agent?");
    await conversationSays(page, ["I fix the numbers.", "Write a.txt", "echo 'ONE SEVEN' > b.txt", "Done."]);
    await proposes(page, workspace);
    await shows(page, model, "Small");
  },
);

editorTest("a step whose check fails stays open", async ({ page }) => {
  await staysOpen(page);
  await picture(page, "hosted-agents-check");
});

editorTest("its changes are accepted and rejected by hunk and by file", async ({ page, workspace }) => {
  await decides(page, workspace);
});

editorTest(
  "its next prompt says what was decided and that the check failed; then it passes",
  async ({ page, code }) => {
    await send(page, "Go on");
    await conversationSays(page, ["Now it is fixed."]);
    const state = path.join(code.home, ".local/share/fairlead/agents/state/claude/prompts.jsonl");
    const [, prompt] = fs.readFileSync(state, "utf8").trim().split("\n").map(JSON.parse);
    saysAll(prompt, "Go on");
    await passes(page);
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
  await choose(page, "Locked Agent");
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
