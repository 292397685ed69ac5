// The packaged extension in a clean VS Code: it finds a Python, makes its own environment, and works.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { conversationSays, edit, listingServer, picture, recording, ROOT, runTask, serverPids } from "./agent.mjs";
import { openEditor, useEditor } from "./host/editor.mjs";
import { test } from "./host/registry.mjs";
import { temporaryFile } from "./host/temporary.mjs";

const FIRST_START = 180_000;
const { version } = JSON.parse(fs.readFileSync(path.join(ROOT, "package.json"), "utf8"));
const vsix = path.join(ROOT, ".build", `fairlead-${version}.vsix`);
// pip asks other programs for their versions, and these may write into the home folder
const home = path.dirname(temporaryFile("home"));
execFileSync(process.execPath, [path.join(ROOT, "scripts/package.mjs")], {
  stdio: "pipe",
  env: { ...process.env, HOME: home, USERPROFILE: home },
});

const turns = [{ calls: [edit("a.txt", "old", "new")] }, { text: "The first task is done." }];
const openai = await listingServer({ key: "sk-mine", models: [{ id: "gpt-6.1-sol" }] });
const editorTest = useEditor(() =>
  openEditor({
    name: "package",
    extensions: [vsix],
    workspace: { "a.txt": "old\n", "fairlead.py": "raise SystemExit('a module of the workspace was run')\n" },
    settings: {
      "fairlead.replay": recording(...turns),
      "fairlead.endpoints": { openai: { baseUrl: openai.url, api: "chat" } },
    },
    env: { ANTHROPIC_AUTH_TOKEN: undefined, ANTHROPIC_BASE_URL: undefined },
  }),
);

editorTest("the package is small and contains the recording of the example", async (_, context) => {
  const { size } = fs.statSync(vsix);
  context.diagnostic(`figure: the size of the .vsix is ${(size / 1000).toFixed(0)} kB`);
  assert.ok(size < 2_500_000, `${size} bytes`);
  assert.ok(fs.readFileSync(vsix).includes("extension/example/refactor.replay.yaml"));
});

editorTest(
  "the first task sets up the server, which runs in its own environment",
  async ({ page, code, workspace }, context) => {
    const began = Date.now();
    await page.runCommand("Agent: Run Task");
    await page.quickInput("Agent: Run Task");
    await page.insertText("Do the first thing");
    const sent = Date.now();
    await page.press("Enter");
    await page.until("a sign of the task", async () =>
      (await page.viewMessage("Plan")).includes("Starting the agent for “Do the first thing”."),
    );
    context.diagnostic(`figure: from Enter to the first sign of the task: ${Date.now() - sent} ms`);
    assert.deepEqual(serverPids(code), [], "the server is not running yet");
    await picture(page, "first-start");
    await conversationSays(page, ["The first task is done."], FIRST_START);
    context.diagnostic(
      `figure: from the command to the end of the first task, set-up included: ${((Date.now() - began) / 1000).toFixed(1)} s`,
    );
    const [pid] = serverPids(code);
    assert.match(
      fs.readFileSync(`/proc/${pid}/cmdline`, "utf8"),
      new RegExp(`globalStorage/fairlead\\.fairlead/server-${version.replaceAll(".", "\\.")}-[0-9a-f]{8}/`),
    );
    await page.showContainer("Fairlead");
    await page.runCommand("Agent: Accept All");
    await page.until("the change on disk", () => fs.readFileSync(path.join(workspace, "a.txt"), "utf8") === "new\n");
  },
);

editorTest("the first tool server installs the packages for tool servers", async ({ page, code }) => {
  const storage = path.join(code.userDataDir, "User", "globalStorage", "fairlead.fairlead");
  const sdk = path.join("site-packages", "mcp", "__init__.py");
  const installed = () => fs.readdirSync(storage, { recursive: true }).filter((file) => file.endsWith(sdk));
  assert.deepEqual(installed(), []);
  await runTask(page, "Do it without a tool server");
  await conversationSays(page, ["Do it without a tool server", "The first task is done."]);
  assert.deepEqual(installed(), []);
  const title = "Agent: Add Tool Server";
  const script = path.join(ROOT, "tests", "tool_servers", "scripted.py");
  await page.runCommand("Agent: Add Tool Server...");
  await page.pick("Paste a Definition", { title });
  await page.fillInput(JSON.stringify({ servers: { files: { command: "python3", args: [script] } } }), { title });
  const [row] = await page.rows("Tool Servers", ([found]) => / tools|^failed/.test(found?.description), FIRST_START);
  assert.match(row.description, /^running · \d+ tools/);
  assert.notDeepEqual(installed(), []);
});

editorTest("after a reload, the first task does not wait for another set-up", async ({ page, code }, context) => {
  await page.reload();
  await runTask(page, "And once more");
  await conversationSays(page, ["And once more", "The first task is done."]);
  const [, milliseconds] = /activated in ([\d.]+) ms/.exec(code.logs()) ?? [];
  context.diagnostic(`figure: the extension is activated in ${milliseconds} ms`);
});

/** Writes settings that do not belong to the user. */
function configure(code, settings) {
  const file = path.join(code.userDataDir, "Machine", "settings.json");
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, JSON.stringify(settings));
}

/** Names a Python that is there. Its packages cannot be downloaded; one sentence and a page say so. */
async function withoutNetwork({ page, code }) {
  await page.closeToast("Fairlead needs Python");
  configure(code, { "fairlead.python": fs.realpathSync(path.join(ROOT, ".venv/bin/python")) });
  const { message, buttons } = await page.toast("could not be downloaded", FIRST_START);
  assert.equal(message, "The packages of Fairlead's server could not be downloaded: no network.");
  assert.deepEqual(buttons, ["Try Again", "Choose Wheels...", "Show Log"]);
  await page.webview().locator("li", { hasText: "fairlead.wheels" }).waitFor();
  await page.webview().locator("code", { hasText: "No matching distribution" }).waitFor();
  assert.match(code.logs(), /ERROR: No matching distribution/);
  await page.showContainer("Fairlead");
  await picture(page, "no-network");
  await page.until("the Plan's words", async () =>
    (await page.page.locator(".welcome-view").allInnerTexts()).join().includes("server could not be started."),
  );
}

editorTest("a missing Python in the settings is reported, although an environment exists", async ({ page, code }) => {
  const before = serverPids(code);
  configure(code, { "fairlead.python": "/no/such/python" });
  await page.toast("Fairlead needs Python 3.11 to 3.14.");
  assert.match(code.logs(), /Python: \/no\/such\/python not found/);
  await page.until("the end of the earlier server", () => serverPids(code).length === 0);
  configure(code, {});
  await page.until("a server of the first environment", () => serverPids(code).length === 1);
  assert.notDeepEqual(serverPids(code), before);
});

editorTest("a key of OpenAI installs the packages that its API needs", async ({ page, code }, context) => {
  const user = path.join(code.userDataDir, "User", "settings.json");
  const { "fairlead.replay": _replay, ...settings } = JSON.parse(fs.readFileSync(user, "utf8"));
  fs.writeFileSync(user, JSON.stringify(settings));
  await page.until("a server without a recording", () => serverPids(code).length === 1);
  const storage = path.join(code.userDataDir, "User", "globalStorage", "fairlead.fairlead");
  const sdk = path.join("site-packages", "openai", "__init__.py");
  const installed = () => fs.readdirSync(storage, { recursive: true }).filter((file) => file.endsWith(sdk));
  assert.deepEqual(installed(), []);
  const began = Date.now();
  await page.runCommand("Agent: Set Up Model...");
  await page.pick("OpenAI", { title: "Agent: Set Up Model" });
  await page.fillInput("sk-mine", { title: "Agent: Set API Key" });
  await page.until(
    "the answer to the small request",
    // the conversation is visible, so no message covers its prompt
    () => page.page.locator(".statusbar-item", { hasText: "gpt-6.1-sol answers." }).isVisible(),
    FIRST_START,
  );
  context.diagnostic(
    `figure: from the command to the model's first answer, packages included: ${((Date.now() - began) / 1000).toFixed(1)} s`,
  );
  assert.notDeepEqual(installed(), []);
  assert.ok(openai.requests.some(({ path: asked, key }) => asked.endsWith("/chat/completions") && key === "sk-mine"));
});

test("without a key and without a Python the key is asked for first, then pages say how to get a Python and the packages", async () => {
  const editor = await openEditor({
    name: "no-python",
    extensions: [vsix],
    workspace: { a: "" },
    env: {
      PATH: path.join(ROOT, "no-such-folder"),
      PIP_INDEX_URL: "https://index.invalid/simple",
      PIP_RETRIES: "1",
      ANTHROPIC_AUTH_TOKEN: undefined,
      ANTHROPIC_BASE_URL: undefined,
    },
  });
  try {
    await runTask(editor.page, "Anything");
    await editor.page.pick("Anthropic", { title: "Agent: Set Up Model" });
    await editor.page.quickInput("Agent: Set API Key");
    assert.ok(!editor.code.logs().includes("Python: "), "no Python is looked for before the question is answered");
    await editor.page.fillInput("sk-test");
    const { buttons } = await editor.page.toast("Fairlead needs Python 3.11 to 3.14.");
    assert.deepEqual(buttons, ["Try Again", "Choose Interpreter...", "Show Log"]);
    assert.match(editor.code.logs(), /Python: python3 not found/);
    await editor.page.webview().locator("code", { hasText: "python3: not found" }).waitFor();
    await withoutNetwork(editor);
  } finally {
    await editor.close();
  }
});
