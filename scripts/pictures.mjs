// `npm run pictures`: takes the pictures of the documentation in a real VS Code, with a recording or a stand-in instead of
// the model. `-- --only NAME[,NAME]` makes only some of them: `stills`, `models`, `subagents`, `hooks`, `agents`, `hosted`,
// `toolServers`, `animation`, `walkthrough` or `icon`.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { pythonEnvironment, root, venvProgram } from "./process.mjs";
import {
  AGENTS,
  HOOKS,
  HOSTED,
  HOSTED_PROMPT,
  HOSTED_WORK,
  hookTurns,
  OWN_HOOKS,
  subagentTurns,
} from "./picture-scenes.mjs";
import { say } from "./progress.mjs";
import { ensureNode, ensurePython, main, runOrThrow, waitForAll } from "./setup.mjs";
import { ensureWheels, wheelsDir } from "./wheels.mjs";

const folder = path.join(root, "docs", "pictures");
const example = path.join(root, "server/fairlead/example");
const SIZE = { viewport: { width: 1200, height: 720 }, scale: 1.5 };
const ALL = "stills,models,subagents,hooks,agents,hosted,toolServers,animation,walkthrough,icon";
const TASK = "Refactor hello.py: add type hints, docstrings, and a main guard";

await main(async () => {
  const { only } = parseArgs({ options: { only: { type: "string", default: ALL } } }).values;
  await waitForAll(ensurePython(), ensureNode());
  await runOrThrow(process.execPath, [path.join(root, "scripts/build.mjs")]);
  const { closeBrowser } = await import("../tests/editor/host/page.mjs");
  fs.mkdirSync(folder, { recursive: true });
  const wanted = only.split(",");
  const stills = {
    stills: takeStills,
    models: takeModels,
    subagents: takeSubagents,
    hooks: takeHooks,
    agents: takeAgents,
    hosted: takeHosted,
  };
  for (const [name, takeThem] of Object.entries(stills))
    for (const theme of wanted.includes(name) ? ["dark", "light"] : []) await takeThem(theme);
  if (wanted.includes("toolServers")) await takeToolServers();
  if (wanted.includes("animation")) await takeAnimation();
  if (wanted.includes("walkthrough")) await shrinkForWalkthrough();
  if (wanted.includes("icon")) await drawIcon();
  await closeBrowser();
  return 0;
});

/**
 * Opens VS Code with the recording in the file `replay` on the example, or on a workspace with these files. Then opens
 * `file`, if it is given.
 */
async function open(
  theme,
  replay,
  size,
  settings = {},
  { workspace = path.join(example, "workspace"), file = "hello.py", env = {} } = {},
) {
  const { openAgent } = await import("../tests/editor/agent.mjs");
  const { pictureFonts, PICTURE_SETTINGS } = await import("../tests/editor/host/pictures.mjs");
  const editor = await openAgent({
    ...size,
    fonts: await pictureFonts(),
    name: "pictures",
    theme,
    workspace,
    env,
    settings: { ...PICTURE_SETTINGS, "fairlead.replay": replay, ...settings },
  });
  if (file) await editor.page.openFile(file);
  await editor.page.showContainer("Fairlead");
  await editor.page.page.mouse.move(600, 540); // nothing is highlighted there
  return editor;
}

/** Returns a function that takes a still picture of a page in this theme. */
function taker(theme) {
  return async (page, name) => {
    await page.screenshot(path.join(folder, `${name}-${theme}.png`));
    say(`  ${name}-${theme}.png`);
  };
}

async function takeStills(theme) {
  const { conversationSays, recording, plan, runTask } = await import("../tests/editor/agent.mjs");
  const take = taker(theme);

  const editor = await open(theme, await slowRecording(), SIZE);
  const { page } = editor;
  await runTask(page, TASK);
  await waitForCompletedSteps(page, 2);
  await take(page, "plan");
  await waitForEndOfRun(page);
  const rows = await page.rows("Proposed Changes");
  await page.clickRow("Proposed Changes", rows[1].index);
  await page.diffLines("modified", { wanted: (lines) => lines.length > 5 });
  await page.page.mouse.move(600, 600);
  await take(page, "diff");
  await page.runCommand("Agent: Show Conversation in Editor");
  await conversationSays(page, ["hello.py now has type hints"]);
  await take(page, "conversation");
  await editor.close();

  const command = { bash: { command: "pip install ruff", network: true } };
  const steps = [
    ["Read the tests", "completed"],
    ["Get the formatter", "in_progress", "Getting the formatter"],
  ];
  const script = recording({ text: "", calls: [plan(...steps), command] }, { text: "Done." });
  const asking = await open(theme, script, SIZE);
  await runTask(asking.page, "Format hello.py");
  await asking.page.toast("pip install ruff");
  await asking.page.rows("Plan", (all) => all.length > 2);
  await take(asking.page, "approval");
  await asking.page.toastButton("pip install ruff", "Reject");
  await asking.page.toast("Done.");
  await asking.close();
}

/** Takes the picture of the model picker. */
async function takeModels(theme) {
  const { listingServer } = await import("../tests/editor/agent.mjs");
  const local = await listingServer({ models: [{ id: "qwen3-coder:30b", max_model_len: 32_768 }] });
  const hosted = await listingServer({
    models: [
      { id: "claude-sonnet-5-5", context_length: 200_000 },
      { id: "gpt-6.1-sol", context_length: 400_000, supported_parameters: ["tools", "reasoning_effort"] },
      { id: "mistral-medium-3-5", context_length: 262_144 },
    ],
  });
  const { page, close } = await open(theme, "", SIZE, {
    "fairlead.endpoint": "litellm",
    "fairlead.model": "claude-sonnet-5-5",
    "fairlead.endpoints": {
      litellm: { title: "LiteLLM", api: "chat", baseUrl: hosted.url },
      ollama: { baseUrl: local.url },
    },
  });
  await page.runCommand("Agent: Choose Model...");
  await page.page.locator(".quick-input-list .monaco-list-row", { hasText: "qwen3-coder:30b" }).waitFor();
  await page.page.mouse.move(600, 700);
  await taker(theme)(page, "models");
  await close();
}

/** Takes the pictures of two subagents at work, and of what one of them changed. */
async function takeSubagents(theme) {
  const { conversationSays, plan, runTask } = await import("../tests/editor/agent.mjs");
  const take = taker(theme);
  const { page, close } = await open(
    theme,
    await replayOf(subagentTurns({ plan })),
    SIZE,
    {},
    { workspace: AGENTS, file: "" },
  );
  await runTask(page, "Test part_of_day, and describe the program in a README");
  await page.runCommand("Agent: Show Conversation in Editor");
  await conversationSays(page, ["Explore: Find who calls part_of_day", "tester: Cover each part of the day"]);
  await page.showContainer("Fairlead");
  await page.rows("Plan", (rows) => rows.filter(({ description }) => description.includes("working")).length === 2);
  await page.webview().locator("summary", { hasText: "tester: Cover" }).click();
  await conversationSays(page, ["Read test_hello.py"]);
  await page.page.mouse.move(600, 700);
  await take(page, "subagents-working");
  await page.webview().locator("summary", { hasText: "tester: Cover" }).click();
  await conversationSays(page, ["The README is next."], 60_000);
  await page.webview().locator("summary", { hasText: "tester: Cover" }).click();
  await page.webview().locator(".change", { hasText: "part_of_day" }).first().waitFor();
  await page.page.mouse.move(600, 700);
  await take(page, "subagents-report");
  await close();
}

/** Takes the pictures of the page of hooks, and of what a hook changed. */
async function takeHooks(theme) {
  const { conversationSays, edit, plan, runTask } = await import("../tests/editor/agent.mjs");
  const take = taker(theme);
  const replay = await replayOf(hookTurns({ edit, plan }));
  const { code, page, close } = await open(theme, replay, SIZE, {}, { workspace: HOOKS, file: "" });
  const own = path.join(code.home, ".config/fairlead/hooks.json");
  fs.mkdirSync(path.dirname(own), { recursive: true });
  fs.writeFileSync(own, JSON.stringify(OWN_HOOKS));
  await page.runCommand("Agent: Show Hooks");
  await page.webview().locator("h2", { hasText: "Your own hooks" }).waitFor();
  await take(page, "hooks-page");
  fs.rmSync(own); // it would run at the end of the task
  await runTask(page, "Round the total to cents");
  await page.runCommand("Agent: Show Conversation in Editor");
  await page.webview().locator(".card button", { hasText: "Allow" }).first().click();
  await conversationSays(page, ["is rounded to cents"]);
  await page.webview().locator("summary", { hasText: "Hook PostToolUse" }).click();
  await page.webview().locator(".change", { hasText: "PRICES" }).first().waitFor();
  await page.page.mouse.move(600, 700);
  await take(page, "hooks-change");
  await close();
}

/** Takes the picture of the list of modes with agents in files. */
async function takeAgents(theme) {
  const replay = await replayOf({ turns: [{ text: "Done." }] });
  const { page, close } = await open(theme, replay, SIZE, {}, { workspace: AGENTS });
  await page.runCommand("Agent: Show Conversation");
  const mode = page.webview().locator("select.mode");
  await mode.locator("option", { hasText: "translator" }).waitFor({ state: "attached" });
  await mode.click();
  await page.page.mouse.move(600, 540);
  await taker(theme)(page, "agents");
  await page.press("Escape");
  await close();
}

/** Takes the picture of what the real Claude Code has proposed, with a stand-in instead of its model. */
async function takeHosted(theme) {
  const { conversationSays } = await import("../tests/editor/agent.mjs");
  const { allow, choose, send, showConversation } = await import("../tests/editor/hosted.mjs");
  const { installClaude, KEY, startStandIn } = await import("../tests/real_agents/claude.mjs");
  const standIn = await startStandIn({ [HOSTED_PROMPT]: HOSTED_WORK });
  const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: standIn.url };
  const settings = { "fairlead.checks": ["python3 -m unittest"] };
  const { code, page, close } = await open(theme, "", SIZE, settings, { workspace: HOSTED, file: "", env });
  await installClaude(code.home);
  await showConversation(page);
  await choose(page, "Claude Code");
  await send(page, HOSTED_PROMPT);
  await allow(page, "Start this agent?");
  await conversationSays(page, [HOSTED_WORK.at(-1), "2 files to review."], 120_000);
  await page.rows("Proposed Changes", (rows) => rows.length > 2);
  await page.clickRow("Proposed Changes", "hello.py");
  await page.diffLines("modified", { wanted: (lines) => lines.length > 5 });
  await page.page.mouse.move(600, 540);
  await taker(theme)(page, "hosted-agents");
  await close();
  await standIn.close();
}

/** Writes a recording and returns its path. */
async function replayOf(content) {
  const { temporaryFile } = await import("../tests/editor/host/temporary.mjs");
  const file = temporaryFile("picture.replay.yaml");
  fs.writeFileSync(file, JSON.stringify({ replay: 1, ...content }));
  return file;
}

/** Takes the picture of what a tool server from npm has proposed, from the journey of `npm run looks`. */
async function takeToolServers() {
  const looks = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-looks-"));
  const script = path.join(root, "scripts/looks/looks.mjs");
  await runOrThrow(process.execPath, [script, "--only", "dark,light", "--journeys", "tool-server", looks]);
  for (const theme of ["dark", "light"]) {
    const taken = path.join(looks, `tool-server-2-proposed-${theme}.png`);
    fs.copyFileSync(taken, path.join(folder, `tool-servers-${theme}.png`));
    say(`  tool-servers-${theme}.png`);
  }
  fs.rmSync(looks, { recursive: true });
}

/** Copies the example's recording with a slower pace, so that each state can be pictured. Returns the path. */
async function slowRecording() {
  const { temporaryFile } = await import("../tests/editor/host/temporary.mjs");
  const recorded = fs.readFileSync(path.join(example, "refactor.replay.yaml"), "utf8");
  const slow = temporaryFile("refactor.replay.yaml");
  fs.writeFileSync(slow, recorded.replace(/^pace: .*$/m, "pace: 0.15"));
  return slow;
}

async function waitForCompletedSteps(page, count) {
  const isCompleted = ({ level, icon }) => level === 1 && icon.startsWith("pass");
  await page.until(`${count} steps`, async () => (await page.viewDescription("Plan")) === `${count}/5`, 60_000);
  await page.rows("Plan", (rows) => rows.filter(isCompleted).length === count);
  await page.until("a plan", async () => !(await page.viewMessage("Plan")).includes("No plan"));
}

async function waitForEndOfRun(page) {
  await waitForCompletedSteps(page, 5);
  await page.until(
    "the summary",
    async () => (await page.toasts()).some(({ buttons }) => buttons.includes("Review Changes")),
    60_000,
  );
  await page.closeToast("");
}

/** Takes the animation: the task is typed, the steps are completed, and one change is accepted, then all others. */
async function takeAnimation() {
  const { temporaryFile } = await import("../tests/editor/host/temporary.mjs");
  const size = { viewport: { width: 1000, height: 600 }, scale: 1.5 };
  const { page, close } = await open("dark", await slowRecording(), size, { "diffEditor.renderSideBySide": false });
  await page.until("a quiet status bar", async () => !(await page.screen()).includes("Activating"));

  const frames = [];
  const take = async (ms) => {
    const file = temporaryFile(`${frames.length}.png`);
    await page.screenshot(file);
    frames.push({ file, ms });
  };
  await take(900);
  await page.runCommand("Agent: Run Task");
  const words = TASK.split(" ");
  for (let count = 1; count <= words.length; count++) {
    await page.fillInput(words.slice(0, count).join(" "), { title: "Agent: Run Task", accept: false });
    await take(count < words.length ? 90 : 700);
  }
  await page.press("Enter");
  for (let done = 0; done < 5; done++) {
    await waitForCompletedSteps(page, done);
    await take(800);
  }
  await waitForEndOfRun(page);
  await take(1000);
  const rows = await page.rows("Proposed Changes");
  await page.clickRow("Proposed Changes", rows[2].index);
  await page.diffLines("modified", { wanted: (lines) => lines.length > 5 });
  await take(1800);
  const greenLines = () => page.page.locator(".line-insert").count();
  const green = await greenLines();
  await page.rowAction("Proposed Changes", rows[2].index, "Accept");
  await page.rows("Proposed Changes", (all) => all.length === rows.length - 1);
  await page.until("a smaller diff", async () => (await greenLines()) < green);
  await take(1200);
  await page.runCommand("Agent: Accept All");
  await page.until("no proposals", async () => (await page.viewDescription("Proposed Changes")) === "");
  await page.rows("Proposed Changes", (all) => all.length === 0);
  await take(2500);
  await close();
  await animate(frames, path.join(folder, "demo.png"));
}

/** Draws the icon of the extension page, which shows the icon of the activity bar on a tile. */
async function drawIcon() {
  const { startBrowser } = await import("./vscode/browser.mjs");
  const media = path.join(root, "client", "media");
  const drawing = fs
    .readFileSync(path.join(media, "agent.svg"), "utf8")
    .replace('stroke="#000"', 'stroke="#fff" style="display:block; width:100%; height:100%"');
  const tile = "padding:20px; width:88px; height:88px; border-radius:28px; background:#0f4c81";
  const html = `<body style="margin:0"><div style="${tile}">${drawing}</div>`;
  const { browser, stop } = await startBrowser();
  const page = await browser.newPage({ viewport: { width: 128, height: 128 }, deviceScaleFactor: 2 });
  await page.setContent(html);
  await page.screenshot({ path: path.join(media, "icon.png"), omitBackground: true });
  await stop();
  say("  icon.png");
}

/** Makes smaller copies of the stills for the walkthrough, which are part of the package. */
async function shrinkForWalkthrough() {
  const target = path.join(root, "client/media/walkthrough");
  fs.mkdirSync(target, { recursive: true });
  const names = ["plan", "conversation", "diff", "approval"].flatMap((name) => [
    `${name}-dark.png`,
    `${name}-light.png`,
  ]);
  const stills = names.map((name) => path.join(folder, name));
  await python("shrink.py", target, ...stills);
  for (const name of names) say(`  walkthrough/${name}, ${kilobytes(path.join(target, name))}`);
}

async function animate(frames, target) {
  const list = path.join(path.dirname(frames[0].file), "frames.json");
  fs.writeFileSync(list, JSON.stringify(frames));
  await python("animate.py", list, target);
  say(`  ${path.basename(target)}, ${kilobytes(target)}`);
}

/** Runs a script of this folder with the packages for pictures. */
async function python(script, ...args) {
  await ensureWheels("pictures");
  const env = pythonEnvironment({});
  env.PYTHONPATH = wheelsDir("pictures");
  await runOrThrow(venvProgram("python"), [path.join(root, "scripts", script), ...args], { env });
}

function kilobytes(file) {
  return `${(fs.statSync(file).size / 1000).toFixed(0)} kB`;
}
