// The real Claude Code in a real VS Code, against a stand-in of its API (`npm run test:agents`): two files that its shell
// wrote are reviewed by hunk, and it repairs what a check said.

import { conversationSays, picture, useAgent } from "../editor/agent.mjs";
import {
  allow,
  CAPITALS,
  CHECK,
  choose,
  decides,
  FILES,
  passes,
  proposes,
  REPAIR,
  saysAll,
  send,
  showConversation,
  STEP,
  staysOpen,
} from "../editor/hosted.mjs";
import { atEnd } from "../editor/host/registry.mjs";
import { installClaude, KEY, startStandIn } from "./claude.mjs";

const status = (value) => ["TaskUpdate", { taskId: "1", status: value }];
const shell = (command) => ["Bash", { command, description: "Change the files" }];
const standIn = await startStandIn({
  "Change both files": [
    ["TaskCreate", { subject: STEP, description: "In both files", activeForm: "Fixing the numbers" }],
    status("in_progress"),
    shell(CAPITALS),
    status("completed"),
    "Done.",
  ],
  "Go on": [status("in_progress"), shell(REPAIR), status("completed"), "Now it is fixed."],
});
atEnd(standIn.close);
const editorTest = useAgent([], {
  workspace: FILES,
  settings: { "fairlead.replay": "", "fairlead.checks": [CHECK], "fairlead.check.agentPrompts": 0 },
  viewport: { width: 1280, height: 1000 },
  env: { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: standIn.url },
  own: true,
});

editorTest("the real Claude Code is chosen, and starts after a question", async ({ page, code }) => {
  await installClaude(code.home);
  await page.showContainer("Fairlead");
  await showConversation(page);
  await choose(page, "Claude Code");
  await send(page, "Change both files");
  await allow(page, "Start this agent?");
  await conversationSays(page, [CAPITALS, "Done."], 120_000);
});

editorTest(
  "what its shell wrote is proposed, and the step whose check fails stays open",
  async ({ page, workspace }) => {
    await proposes(page, workspace);
    await staysOpen(page);
    await picture(page, "claude-check");
  },
);

editorTest("its changes are accepted and rejected by hunk and by file", async ({ page, workspace }) => {
  await decides(page, workspace);
});

editorTest("its next prompt says what was decided and that the check failed; then it passes", async ({ page }) => {
  await send(page, "Go on");
  await conversationSays(page, ["Now it is fixed."], 120_000);
  saysAll(standIn.requests().at(-1), "Go on");
  await passes(page);
  await picture(page, "claude-passed");
});
