// What the tests of the extension share: a model that plays a script, and the server's process seen from outside.

import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { openEditor, useEditor } from "./host/editor.mjs";
import { temporaryFile } from "./host/temporary.mjs";
import { openShared } from "./shared.mjs";

export { serverPids } from "./host/processes.mjs";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Writes the model's turns as a recording (docs/replay.md) and returns its path. */
export function recording(...turns) {
  const file = temporaryFile("script.replay.yaml");
  fs.writeFileSync(file, JSON.stringify({ replay: 1, turns }));
  return file;
}

/**
 * A copy of the extension of this checkout, whose Python is a script that starts the real Python with `args` before its
 * own arguments. Returns `{ extension, python }`: the folder to load and the path of the script.
 */
export function copiedExtension(...args) {
  const extension = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-copied-"));
  process.on("exit", () => fs.rmSync(extension, { recursive: true, force: true }));
  // Copied and not linked, because VS Code finds an extension by the real path of its code.
  for (const name of ["package.json", "package.nls.json", "dist", "client/media"])
    fs.cpSync(path.join(ROOT, name), path.join(extension, name), { recursive: true });
  const python = path.join(extension, ".venv", "bin", "python");
  fs.mkdirSync(path.dirname(python), { recursive: true });
  fs.writeFileSync(
    python,
    `#!/bin/sh\nexec ${[`${ROOT}.venv/bin/python`, ...args].map((part) => `"${part}"`).join(" ")} "$@"\n`,
    { mode: 0o755 },
  );
  return { extension, python };
}

/**
 * A copy of the extension with a relay between its server and VS Code (host/relay.py). `extension` is the folder to load.
 * After `writeBeforeEdit({ path: text })`, the relay writes these files before the next edit reaches VS Code.
 * `ask(page, method, params)` sends VS Code a request in the server's name, and returns the response.
 */
export function relayed() {
  const { extension } = copiedExtension(`${ROOT}tests/editor/host/relay.py`);
  const file = (name) => path.join(extension, name);
  const put = (name, content) => {
    fs.writeFileSync(file(`${name}.part`), JSON.stringify(content));
    fs.renameSync(file(`${name}.part`), file(name));
  };
  const take = (name) => {
    if (!fs.existsSync(file(name))) return undefined;
    const content = JSON.parse(fs.readFileSync(file(name), "utf8"));
    fs.rmSync(file(name));
    return content;
  };
  return {
    extension,
    writeBeforeEdit: (files) => put("before-edit.json", files),
    ask: (page, method, params) => {
      put("ask.json", { method, params });
      return page.until(`the answer to ${method}`, () => take("answer.json"), 60_000);
    },
  };
}

/**
 * The tests of a file share one VS Code with the extension of this checkout, whose model plays the turns. With `own`,
 * it is a new VS Code. Otherwise it is the window of the previous files if its settings are the same: that is quicker.
 */
export function useAgent(turns, { settings, own = false, ...options } = {}) {
  const wanted = { name: "window", ...options, settings: { "fairlead.replay": recording(...turns), ...settings } };
  return useEditor(() => (own ? openAgent(wanted) : shareAgent(wanted)));
}

/** A new VS Code with the extension of this checkout. */
export const openAgent = (options) => openEditor(withExtension(options));

/** Like `openAgent`, but in the window of the previous files, if its settings are the same. */
export const shareAgent = (options) => openShared(withExtension(options));

// The keys of the user who runs the tests are never used. Unless a test wants it, the conversation stays closed, because
// then messages say what it would say.
const withExtension = ({ env, settings, ...options }) => ({
  extensions: [ROOT],
  settings: { "fairlead.openConversation": false, ...settings },
  env: { ANTHROPIC_AUTH_TOKEN: undefined, ANTHROPIC_BASE_URL: undefined, ...env },
  ...options,
});

/** A call of the tool `todo`: items as `[content, status, activeForm, check]`. */
export const plan = (...items) => ({
  todo: {
    items: items.map(([content, status = "pending", activeForm = "", check = ""]) => ({
      content,
      status,
      activeForm,
      check,
    })),
  },
});
export const edit = (file, old_text, new_text) => ({ edit_file: { path: file, old_text, new_text } });
export const write = (file, content) => ({ write_file: { path: file, content } });
export const remove = (file) => ({ delete_file: { path: file } });
export const rename = (file, new_path) => ({ rename_file: { path: file, new_path } });
export const bash = (command) => ({ bash: { command } });

/**
 * Starts a server that speaks the Messages API and returns its address. If `refusal(request)` returns an error as
 * `{ status, headers, error }`, the server answers the request with that, otherwise with `text`.
 */
export async function modelServer({ text, usage = { input_tokens: 10, output_tokens: 10 }, refusal }) {
  const events = [
    {
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "claude-sonnet-5-5",
        content: [],
        usage: { ...usage, output_tokens: 1 },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: usage.output_tokens },
    },
    { type: "message_stop" },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  const server = http.createServer((request, response) => {
    const { status, headers, error } = refusal(request) ?? {};
    if (status)
      response
        .writeHead(status, { "content-type": "application/json", ...headers })
        .end(JSON.stringify({ type: "error", error }));
    else response.writeHead(200, { "content-type": "text/event-stream" }).end(events.join(""));
  });
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  return `http://127.0.0.1:${server.address().port}`;
}

/**
 * Starts a server with Chat Completions at `root` that lists `models`, as `{ url, requests }`. It refuses requests
 * without `key`, if there is one, those for the model `broken`, and those for a model that it does not list.
 * `requests` are `{ path, key, model }`. `callOf` returns the call with which a model begins, as `{ name, input }`;
 * without it, models only say something.
 */
export async function listingServer({ models, key = "", root = "/v1", callOf = () => undefined }) {
  const requests = [];
  const chunk = (delta, finish_reason = null) =>
    `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const answer = `${chunk({ role: "assistant", content: "It is well." })}${chunk({}, "stop")}data: [DONE]\n\n`;
  const calling = ({ name, input }) => {
    const call = { index: 0, id: "call_1", type: "function", function: { name, arguments: JSON.stringify(input) } };
    return `${chunk({ role: "assistant", tool_calls: [call] })}${chunk({}, "tool_calls")}data: [DONE]\n\n`;
  };
  const server = http.createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const given = (request.headers.authorization ?? "").replace("Bearer ", "");
    const { model, messages = [], tools } = body ? JSON.parse(body) : {};
    requests.push({ path: request.url, key: given, model });
    const refuse = (status, message) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error: { message } }));
    if (key && given !== key) refuse(401, "Incorrect API key provided.");
    else if (request.method === "GET" && request.url === `${root}/models`)
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ object: "list", data: models }));
    else if (request.method !== "POST" || request.url !== `${root}/chat/completions`) refuse(404, "Not found.");
    else if (model === "broken") refuse(400, "broken is out of order");
    else if (!models.some(({ id }) => id === model)) refuse(404, `The model \`${model}\` does not exist.`);
    else {
      const isFirst = tools !== undefined && !messages.some(({ role }) => role === "tool");
      const call = isFirst ? callOf(model) : undefined;
      response.writeHead(200, { "content-type": "text/event-stream" }).end(call ? calling(call) : answer);
    }
  });
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, requests };
}

/** Runs a task from the palette, as a user does. */
export async function runTask(page, prompt) {
  await page.runCommand("Agent: Run Task");
  await page.fillInput(prompt, { title: "Agent: Run Task" });
}

/** Continues the same session, from the palette. */
export async function followUp(page, prompt) {
  await page.runCommand("Agent: Follow Up");
  await page.fillInput(prompt);
}

/** Waits until the conversation's page contains all of these parts, and returns its text. */
export function conversationSays(page, parts, timeout) {
  const what = `the conversation with ${parts.join(", ")}`;
  const says = async () => {
    const text = await page.webview().locator("body").innerText();
    const missing = parts.filter((part) => !text.includes(part));
    if (missing.length > 0) throw new Error(`not there: ${missing.join(", ")}`);
    return text;
  };
  return page.until(what, says, timeout);
}

/** Takes dark and light pictures for developers to look at, if FAIRLEAD_EDITOR_PICTURES names a folder for them. */
export async function picture(page, name) {
  const folder = process.env.FAIRLEAD_EDITOR_PICTURES;
  if (!folder) return;
  await page.screenshot(path.join(folder, `${name}-dark.png`));
  const dark = await page.themeColor("editor.background");
  const shows = (wanted) => async () => ((await page.themeColor("editor.background")) === dark) === wanted;
  await page.setTheme("light");
  await page.until("the light theme", shows(false));
  await page.screenshot(path.join(folder, `${name}-light.png`));
  await page.setTheme("dark");
  await page.until("the dark theme", shows(true));
}
