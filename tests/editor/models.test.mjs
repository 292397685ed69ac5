// The set-up of a model in a fresh profile, the model picker, and the buttons after a failure of the model, with servers
// that list their models. Says how long each set-up takes.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { openAgent, listingServer, picture, ROOT, runTask } from "./agent.mjs";
import { test } from "./host/registry.mjs";

const SET_UP = "Agent: Set Up Model";
const PICKER = "Agent: Choose Model";
const SET_KEY = "Agent: Set API Key";
const LABEL = ".quick-input-list .monaco-list-row";

async function inEditor(options, body) {
  const editor = await openAgent(options);
  try {
    await body(editor);
  } finally {
    await editor.close();
  }
}

const row = (page, label) => page.page.locator(LABEL, { has: page.page.getByText(label, { exact: true }) }).first();

/** Presses a button of a row of the open list. */
const pressOn = (page, label, button) =>
  page.until(`the button "${button}" of "${label}"`, async () => {
    await row(page, label).hover({ timeout: 1000 });
    await row(page, label).locator(`.action-label[aria-label="${button}"]`).click({ timeout: 1000 });
    return true;
  });

/** Waits for rows of the open list, as `label: description`. */
const listed = (page, ...wanted) =>
  page.until(`the rows ${wanted.join(", ")}`, async () => {
    const shown = (await page.quickInput()).items.map(({ label, description }) => `${label}: ${description}`);
    const missing = wanted.filter((each) => !shown.includes(each));
    if (missing.length > 0) throw new Error(`not there: ${missing.join(", ")}; there: ${shown.join(", ")}`);
    return shown;
  });

const MOST_ACTIONS = 5;

/** Types into the box with this title. A list that had the same title must have closed. */
async function type(page, text, title) {
  await page.until("a box without rows", async () => (await page.quickInput(title)).items.length === 0);
  await page.fillInput(text, { title });
}

const choose = (page, label, title) => page.pick(label, { title });

/**
 * Sets a model up by the user's actions, until it answers. An action is `choose` or `type` with a text and the title of
 * the box.
 */
async function setUp(page, context, from, model, actions, { meanwhile = async () => {}, said = page.toast } = {}) {
  assert.ok(actions.length < MOST_ACTIONS, `${actions.length + 1} actions`);
  const start = performance.now();
  await page.runCommand("Agent: Set Up Model...");
  await meanwhile();
  for (const [act, text, title] of actions) await act(page, text, title);
  await said(`${model} answers.`);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  context.diagnostic(`figure: set-up from ${from}: ${actions.length + 1} actions, ${seconds} s`);
}

test("with an OpenAI key, a model works after three actions in a fresh profile", async (context) => {
  const { url, requests } = await listingServer({ key: "sk-mine", models: [{ id: "gpt-6.1-sol" }] });
  const settings = { "fairlead.endpoints": { openai: { baseUrl: url, api: "chat" } } };
  await inEditor({ name: "openai-key", workspace: { a: "" }, settings }, async ({ page }) => {
    const actions = [
      [choose, "OpenAI", SET_UP],
      [type, "sk-mine", SET_KEY],
    ];
    const meanwhile = async () => {
      await listed(page, "OpenAI: ", "OpenRouter: ", "Google Gemini: ");
      await picture(page, "set-up");
    };
    await setUp(page, context, "an OpenAI key", "gpt-6.1-sol", actions, { meanwhile });
    assert.ok(requests.some(({ path, key }) => path.endsWith("/chat/completions") && key === "sk-mine"));
    await page.toastButton("gpt-6.1-sol answers.", "Run Task");
    await page.fillInput("Anything", { title: "Agent: Run Task" });
    await page.toast("It is well.");
    await page.statusItem("fairlead.model", ({ text }) => text === "gpt-6.1-sol");
  });
});

for (const [api, endpoint, key, model] of [
  ["messages", "anthropic", "sk-ant-mine", "claude-sonnet-5-5"],
  ["chat", "openai", "sk-mine", "gpt-6.1-sol"],
  ["responses", "openai", "sk-mine", "gpt-6.1-sol"],
])
  test(`the main job through ${api}, from the key to the bytes on disk`, async () => {
    const program = [`${ROOT}tests/support/main_job_server.py`, api, key];
    const server = spawn(`${ROOT}.venv/bin/python`, program, { stdio: ["pipe", "pipe", "inherit"] });
    try {
      const [url] = await once(server.stdout, "data");
      const settings = { "fairlead.endpoints": { [endpoint]: { baseUrl: String(url).trim() } } };
      await inEditor({ name: `main-job-${api}`, workspace: { "hello.py": "print('helo')\n" }, settings }, (editor) =>
        mainJob(editor, { title: endpoint === "openai" ? "OpenAI" : "Anthropic", key, model }, `main-job-${api}`),
      );
      server.stdin.end();
      assert.deepEqual(await once(server, "exit"), [0, null], "no request was refused");
    } finally {
      server.kill();
    }
  });

async function mainJob({ page, workspace }, { title, key, model }, name) {
  await page.showContainer("Fairlead");
  await page.runCommand("Agent: Set Up Model...");
  await page.pick(title, { title: SET_UP });
  await page.fillInput(key, { title: SET_KEY });
  await page.toast(`${model} answers.`);
  await page.closeToast(`${model} answers.`);
  await runTask(page, "Correct the greeting");
  await page.toast("The greeting is right now.");
  await page.until("the count", async () => (await page.viewDescription("Plan")) === "2/2");
  await page.clickRow("Proposed Changes", "Line 1");
  await page.diffLines("modified", { wanted: (lines) => lines.includes("print('hello')") });
  await picture(page, name);
  const content = () => fs.readFileSync(path.join(workspace, "hello.py"), "utf8");
  assert.equal(content(), "print('helo')\n");
  await page.runCommand("Agent: Accept All");
  await page.until("the accepted file", () => content() === "print('hello')\n");
}

test("a local server that answers is named first, and the picker chooses, tries and sets the default", async (context) => {
  const models = [{ id: "small", max_model_len: 32768 }, { id: "large" }, { id: "broken" }];
  const local = await listingServer({ models });
  const work = await listingServer({ key: "k", models: [{ id: "work-1", context_length: 200_000 }] });
  const settings = {
    "fairlead.endpoints": {
      ollama: { baseUrl: local.url },
      work: { title: "Work", api: "chat", baseUrl: work.url, models: { "work-1": { inputPrice: 3, outputPrice: 15 } } },
      away: { baseUrl: "http://127.0.0.1:9" },
    },
  };
  await inEditor({ name: "local-server", workspace: { a: "" }, settings }, async ({ page }) => {
    const actions = [
      [choose, "Ollama", SET_UP],
      [choose, "small", SET_UP],
    ];
    await setUp(page, context, "a local server", "small", actions, {
      meanwhile: () => listed(page, "Ollama: 3 models"),
    });
    await page.closeToast("small answers.");
    await runTask(page, "Anything");
    await page.toast("It is well.");
    await page.closeToast("It is well.");

    await page.clickStatus("fairlead.model");
    await listed(page, "small: Ollama · 32k · local", "small: 32k · local", "large: local");
    await listed(page, "The models could not be listed: ", "Work: Set Key...");
    await picture(page, "picker");
    await pressOn(page, "broken", "Try with a Small Request");
    await page.until("why it does not work", async () =>
      /broken is out of order/.test(await row(page, "broken").innerText()),
    );
    await pressOn(page, "large", "Make It the Default");
    await page.pick("large", { title: PICKER });
    await page.statusItem("fairlead.model", ({ text }) => text === "large");
    assert.equal(local.requests.at(-1).model, "broken");

    await page.runCommand("Agent: Choose Model...");
    await page.pick("Work", { title: PICKER });
    await page.fillInput("k", { title: SET_KEY });
    await listed(page, "work-1: 200k · $3 / $15 · local");
    await page.pick("work-1", { title: PICKER });
    await page.statusItem("fairlead.model", ({ text }) => text === "work-1");
    await page.runCommand("Agent: Follow Up");
    await page.fillInput("And now?");
    await page.toast("It is well.");
    assert.equal(work.requests.at(-1).model, "work-1");
    await page.runCommand("Agent: New Session");
    await page.statusItem("fairlead.model", ({ text }) => text === "large");
    await chooseBelowPrompt(page);
  });
});

/** Chooses the model of new sessions and its effort with the button below the prompt of the conversation. */
async function chooseBelowPrompt(page) {
  await page.runCommand("Agent: Show Conversation");
  const model = page.webview().locator("button[data-action=chooseModel]");
  const shows = async (text) => {
    await page.until(`the model "${text}"`, async () => (await model.innerText()) === text);
    await page.statusItem("fairlead.model", (item) => item.text === text);
  };
  const chooseBelow = async (label) => {
    await model.click();
    await page.fillInput(label, { title: PICKER, accept: false }); // the list is long
    await page.pick(label, { title: PICKER });
  };
  await shows("large");
  await chooseBelow("Effort...");
  await page.pick("High", { title: PICKER });
  await shows("large · High");
  await chooseBelow("Other Model...");
  await type(page, "sk-a-key", PICKER);
  await page.until("why it is refused", async () =>
    (await page.quickInput(PICKER)).message.startsWith("This looks like an API key"),
  );
  await page.fillInput("my-model", { title: PICKER });
  await shows("my-model · High");
  await chooseBelow("Effort...");
  await page.pick("The model's default", { title: PICKER });
  await shows("my-model");
}

test("Azure, an own gateway, OpenRouter and a cloud are set up with what each of them needs", async (context) => {
  const azure = await listingServer({ key: "a-key", models: [{ id: "my-deployment" }], root: "/openai/v1" });
  const gateway = await listingServer({ models: [{ id: "ours" }, { id: "theirs" }] });
  const locked = await listingServer({ key: "right", models: [{ id: "locked" }] });
  const router = await listingServer({ key: "sk-or-v1-mine", models: [{ id: "vendor/a" }, { id: "vendor/b" }] });
  const settings = { "fairlead.endpoints": { openrouter: { baseUrl: router.url } } };
  await inEditor({ name: "kinds-of-access", workspace: { a: "" }, settings }, async ({ page }) => {
    const done = (model) => page.closeToast(`${model} answers.`);
    await page.runCommand("Agent: Show Conversation in Editor");
    const noModel = page.webview().locator(".card", { hasText: "No model is set up yet." });
    await noModel.waitFor();
    await page.statusItem("fairlead.model", ({ text }) => text === "No Model");
    await picture(page, "no-model");
    const openAzure = [
      [choose, "Azure OpenAI", SET_UP],
      [type, azure.url, SET_UP],
      [type, "a-key", SET_KEY],
      [type, "my-deployment", SET_UP],
    ];
    // a message would cover the prompt
    const briefly = (text) => page.page.locator(".statusbar-item", { hasText: text }).waitFor();
    await setUp(page, context, "Azure", "my-deployment", openAzure, { said: briefly });
    await noModel.waitFor({ state: "detached" });
    await page.until("no message", async () => (await page.toasts()).length === 0);
    await page.runCommand("View: Close Editor");
    assert.deepEqual(
      azure.requests.filter(({ model }) => model).map(({ key }) => key),
      ["a-key"],
    );

    const openGateway = [
      [choose, "Another Address...", SET_UP],
      [type, gateway.url, SET_UP],
      [choose, "ours", SET_UP],
    ];
    await setUp(page, context, "an own gateway", "ours", openGateway);
    await done("ours");
    await page.runCommand("Agent: Set Up Model...");
    await page.pick("Another Address...", { title: SET_UP });
    await page.until("the address to correct", async () => (await page.quickInput(SET_UP)).value === gateway.url);
    await page.press("Escape");
    assert.ok(gateway.requests.every(({ key }) => key !== "a-key"));

    const address = new URL(locked.url).host;
    const openLocked = async () => {
      await page.runCommand("Agent: Set Up Model...");
      await page.pick("Another Address...", { title: SET_UP });
      await type(page, locked.url, SET_UP);
    };
    const asksForKey = (wanted) =>
      page.until("the box for the key", async () => {
        const { message, isPassword } = await page.quickInput(SET_KEY);
        assert.ok(isPassword);
        return message.startsWith(wanted);
      });
    const refused = "The API key was refused. (401: Incorrect API key provided.)";
    await openLocked();
    await asksForKey(`The API key for ${address}. Saved in VS Code's secret storage. (Press`);
    await page.fillInput("wrong", { title: SET_KEY });
    await asksForKey(`${refused} The API key for ${address}. Saved in VS Code's secret storage. Leave it empty`);
    await picture(page, "refused-key");
    await page.statusItem("fairlead.model", ({ text }) => text === "ours");
    await page.press("Escape");
    await openLocked();
    await asksForKey(refused);
    await page.fillInput("right", { title: SET_KEY });
    await page.toast("locked answers.");
    await done("locked");

    const openRouter = [
      [choose, "OpenRouter", SET_UP],
      [type, "sk-or-v1-mine", SET_KEY],
      [choose, "vendor/b", SET_UP],
    ];
    await setUp(page, context, "OpenRouter", "vendor/b", openRouter);
    await done("vendor/b");

    await page.runCommand("Agent: Set Up Model...");
    await page.pick("Amazon Bedrock", { title: SET_UP });
    await type(page, "us.anthropic.claude-x-v1:0", SET_UP);
    const failed = await page.toast("The model cannot be used.");
    assert.match(failed.message, /region|sign|credentials|packages/i);
    assert.deepEqual(failed.buttons, ["Cloud Settings", "Choose Again", "Test Again"]);
  });
});

test("after an unknown model, the run continues with a similar model of the server", async () => {
  const models = [{ id: "gpt-6.1-sol" }, { id: "gpt-6.1-terra" }, { id: "a" }, { id: "b" }];
  const { url, requests } = await listingServer({ models });
  const settings = {
    "fairlead.endpoints": { work: { title: "Work", api: "chat", baseUrl: url } },
    "fairlead.endpoint": "work",
    "fairlead.model": "gpt-6.1-sole",
  };
  await inEditor({ name: "unknown-model", workspace: { a: "" }, settings }, async ({ page }) => {
    await runTask(page, "Anything");
    const failed = await page.toast("has no model “gpt-6.1-sole”");
    assert.deepEqual(failed.buttons, ["Use gpt-6.1-sol", "Use gpt-6.1-terra", "Choose Model", "Show Conversation"]);
    await page.rows("Plan", (rows) => rows.some(({ label }) => label === "Use gpt-6.1-sol"));
    await picture(page, "unknown-model");
    await page.toastButton("has no model", "Use gpt-6.1-sol");
    await page.toast("It is well.");
    assert.equal(requests.at(-1).model, "gpt-6.1-sol");
    await page.statusItem("fairlead.model", ({ text }) => text === "gpt-6.1-sol");
    // the wrong name came from the settings
    await page.runCommand("Agent: New Session");
    await page.statusItem("fairlead.model", ({ text }) => text === "gpt-6.1-sol");
  });
});

test("a key of another provider is recognized when it is entered, and after its refusal", async () => {
  const router = await listingServer({ key: "sk-or-v1-mine", models: [{ id: "vendor/a" }] });
  const openai = await listingServer({ key: "sk-proj-other", models: [{ id: "gpt-6.1-sol" }] });
  const settings = {
    "fairlead.endpoints": { openai: { baseUrl: openai.url, api: "chat" }, openrouter: { baseUrl: router.url } },
  };
  await inEditor({ name: "wrong-key", workspace: { a: "" }, settings }, async ({ page }) => {
    await page.runCommand("Agent: Set Up Model...");
    await page.pick("OpenAI", { title: SET_UP });
    await page.fillInput("sk-or-v1-mine", { title: SET_KEY });
    await page.until("the question", async () =>
      (await page.quickInput(SET_KEY)).placeholder.includes("This looks like a key of OpenRouter."),
    );
    await picture(page, "wrong-key");
    await page.pick("Use It Anyway", { title: SET_KEY });
    const failed = await page.toast("The model cannot be used.");
    assert.match(failed.message, /By its form, it is a key of OpenRouter\./);
    assert.doesNotMatch(failed.message, /sk-or|mine/);
    assert.deepEqual(failed.buttons, ["Use OpenRouter", "Set API Key", "Choose Again", "Test Again"]);
    await page.toastButton("The model cannot be used.", "Use OpenRouter");
    await page.toast("vendor/a answers.");
    await page.closeToast("vendor/a answers.");
    assert.ok(openai.requests.some(({ key }) => key === "sk-or-v1-mine"));

    await page.runCommand("Agent: Set Up Model...");
    await page.pick("OpenAI", { title: SET_UP });
    await page.fillInput("sk-or-v1-mine", { title: SET_KEY });
    await page.pick("Use OpenRouter", { title: SET_KEY });
    await page.toast("vendor/a answers.");
    await page.closeToast("vendor/a answers.");
    await runTask(page, "Anything");
    await page.toast("It is well.");
    assert.equal(router.requests.at(-1).model, "vendor/a");
  });
});
