// Opens VS Code in the browser and operates it through verbs. Only this file and the *-verbs files read the screen, by the class
// names of VS Code; the tests use views, rows, diffs and messages.
//
// Every verb waits for its condition. If a deadline passes first, it saves a picture and the logs, and throws an error
// with the text of the screen. No verb waits for a fixed time.
import fs from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startBrowser } from "../../../scripts/vscode/browser.mjs";
import { editorVerbs } from "./editor-verbs.mjs";
import { addFonts } from "./pictures.mjs";
import { viewVerbs } from "./view-verbs.mjs";
import { workbenchVerbs } from "./workbench-verbs.mjs";

const ARTIFACTS = fileURLToPath(new URL("../.artifacts/", import.meta.url));
// In ms, like all times here. Long, because a busy machine is slow; only a failure takes as long.
const DEADLINE = 60_000;
// In `until`, an action is repeated, so each attempt gives up early. Other actions are tried once, until the deadline.
const ATTEMPT_LIMIT = 2000;
// Each check of the page costs the editor time too, so the interval grows with the waiting time.
const FIRST_WAIT = 25;
const LONGEST_WAIT = 200;
const MESSAGE = "a message was shown: ";

let connection;

/** The browser, which the whole process shares. */
export function connect() {
  connection ??= startBrowser();
  return connection;
}

/** Closes this process's browser. */
export async function closeBrowser() {
  const open = connection;
  connection = undefined;
  await (await open?.catch(() => undefined))?.stop();
}

/**
 * Opens the address that `startVSCode` returned and waits until commands can be run.
 *
 * viewport  { width, height }
 * theme     'dark' or 'light'; `setTheme` changes it later
 * scale     pixels of a picture per pixel of the page
 * fonts     what `pictureFonts` returns
 * language  of the extension, for example 'zh-cn'; VS Code's own texts stay English
 * logs      a function that returns the server's logs, saved with a failure
 * name      the name of the folder for the artifacts of a failure
 */
export async function openPage(
  url,
  {
    viewport = { width: 1280, height: 800 },
    theme = "dark",
    scale = 1,
    fonts,
    language,
    logs = () => "",
    name = "page",
  } = {},
) {
  const { browser } = await connect();
  const context = await browser.newContext({ viewport, colorScheme: theme, deviceScaleFactor: scale });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await context.addInitScript(mintKeys);
  await context.addInitScript(endAnimations);
  await context.addInitScript(logMessages, MESSAGE);
  if (language) await context.addInitScript(setLanguage, language);
  const blocked = new Set();
  const page = await context.newPage();
  page.setDefaultTimeout(DEADLINE);
  if (fonts) await addFonts(page, fonts);
  const said = [];
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  // scripts/vscode/browser.mjs lets the browser resolve no host name except this machine's
  page.on("requestfailed", (request) => {
    const { hostname } = new URL(request.url());
    if (request.failure()?.errorText === "net::ERR_NAME_NOT_RESOLVED") blocked.add(hostname);
  });
  page.on("pageerror", (error) => said.push(`page error: ${error.stack}`));
  // A page with unsaved text asks before it closes.
  page.on("dialog", (dialog) => dialog.accept().catch(() => {}));

  const core = { page, until, act };
  let waits = 0;
  const verbs = { ...workbenchVerbs(core), ...viewVerbs(core), ...editorVerbs(core) };

  /** Waits until `probe()` returns a truthy value, and returns that value. An error in the probe counts as a falsy value. */
  async function until(what, probe, timeout = DEADLINE) {
    waits += 1;
    page.setDefaultTimeout(ATTEMPT_LIMIT);
    try {
      return await repeat(what, probe, timeout);
    } finally {
      waits -= 1;
      if (waits === 0) page.setDefaultTimeout(DEADLINE);
    }
  }

  async function repeat(what, probe, timeout) {
    const deadline = Date.now() + timeout;
    let error;
    for (let wait = FIRST_WAIT; ; wait = Math.min(wait * 1.3, LONGEST_WAIT)) {
      try {
        const value = await probe();
        if (value) return value;
        error = undefined;
      } catch (caught) {
        error = caught;
        if (page.isClosed()) break;
      }
      if (Date.now() >= deadline) break;
      await pause(wait);
    }
    throw await failure(`waited ${timeout / 1000} s for ${what}`, error);
  }

  /** Repeats an action with the mouse or the keyboard until it succeeds. */
  function act(what, action, timeout) {
    return until(
      what,
      async () => {
        await action();
        return true;
      },
      timeout,
    );
  }

  async function failure(message, cause) {
    const last = cause ? [`(last: ${cause.message.split("\n")[0]})`] : [];
    const seen = await screen();
    const artifacts = await saveArtifacts(message);
    const messages = said.filter((line) => line.includes(MESSAGE)).slice(-5);
    const text = [message, ...last, "The screen showed:", seen, ...messages, `Saved in ${artifacts}`].join("\n");
    return Object.assign(new Error(text, { cause }), { artifacts });
  }

  async function screen() {
    if (page.isClosed()) return "nothing: the page is closed";
    const parts = [];
    for (const describe of [verbs.describeWorkbench, verbs.describeViews, verbs.describeEditors]) {
      parts.push(await describe().catch((error) => `(could not be read: ${error.message.split("\n")[0]})`));
    }
    return parts.filter(Boolean).join("\n");
  }

  /** Saves a picture, the text of the screen and all logs. Returns the folder. */
  async function saveArtifacts(why = "") {
    const folder = path.join(ARTIFACTS, name.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60));
    let dir = folder;
    for (let n = 2; fs.existsSync(dir); n += 1) dir = `${folder}-${n}`;
    fs.mkdirSync(dir, { recursive: true });
    const keep = (file, text) => fs.writeFileSync(path.join(dir, file), text);
    keep("screen.txt", `${why}\n\n${await screen()}\n`);
    keep("console.log", said.join("\n"));
    keep("server.log", logs());
    keep("blocked-hosts.txt", [...blocked].join("\n"));
    await page
      .screenshot({ path: path.join(dir, "screen.png"), timeout: 5000 })
      .catch((error) => keep("no-picture.txt", error.message));
    return path.relative(process.cwd(), dir);
  }

  try {
    await page.goto(url);
    await ready();
  } catch (error) {
    await context.close();
    throw error;
  }

  async function ready() {
    await until(
      "VS Code to start",
      () => page.locator(".monaco-workbench .statusbar-item").first().isVisible(),
      30_000,
    );
  }

  return {
    page,
    ...verbs,
    until,
    screen,
    saveArtifacts,
    /** The hosts to which requests were refused: only this machine can be reached. */
    blockedHosts: () => [...blocked],
    consoleText: () => said.join("\n"),
    /** From here on, the artifacts of a failure are saved under this name. */
    nameFailures: (title) => {
      name = title;
    },
    setTheme: (wanted) => page.emulateMedia({ colorScheme: wanted }),
    /**
     * Changes the size of the window, and waits until VS Code fills it. Sends more resize events, because VS Code may
     * miss the browser's own one on a busy machine.
     */
    setSize: async (size) => {
      await page.setViewportSize(size);
      await act("VS Code to fill the window", async () => {
        await page.evaluate(() => dispatchEvent(new Event("resize")));
        const box = await page.locator(".monaco-workbench").boundingBox();
        if (box.height !== size.height) throw new Error(`it is ${box.height} pixels high, not ${size.height}`);
      });
    },
    screenshot: async (file, options = {}) => {
      fs.mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
      await page.screenshot({ path: file, animations: "disabled", caret: "hide", timeout: 10_000, ...options });
    },
    /**
     * Reloads the window, as "Developer: Reload Window" does. With `whileClosed`, closes the window, calls that function
     * with the window's address, and opens the address that it returns, or else the same one.
     */
    reload: async (whileClosed) => {
      if (whileClosed) {
        const address = page.url();
        await page.goto("about:blank");
        await page.goto((await whileClosed(address)) ?? address);
      } else await page.reload();
      await ready();
    },
    close: () => context.close(),
  };
}

/** In the page: writes each notification of VS Code to the console, because most of them close automatically. */
function logMessages(prefix) {
  const texts = (node) => node.querySelectorAll?.(".notification-list-item-message") ?? [];
  new MutationObserver((changes) => {
    for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes]))
      for (const { textContent } of texts(node)) if (textContent) console.info(prefix + textContent);
  }).observe(document, { subtree: true, childList: true });
}

/** In the page: sets the language that VS Code passes to its extensions. */
function setLanguage(language) {
  Object.defineProperty(globalThis, "_VSCODE_NLS_LANGUAGE", { get: () => language, set: () => {} });
}

/** In the page: ends every animation at once. A spinner or a progress bar would draw 25 frames a second. */
function endAnimations() {
  const ended = ["animation-delay: 0s", "animation-duration: 0s", "animation-iteration-count: 1"];
  ended.push("transition-delay: 0s", "transition-duration: 0s");
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`*, *::before, *::after { ${ended.map((declaration) => `${declaration} !important;`).join(" ")} }`);
  addEventListener("DOMContentLoaded", () => document.adoptedStyleSheets.push(sheet));
}

/**
 * In the page: VS Code asks its server for half of the key to its secrets. This server has none, and without an answer a reload
 * would lose the secrets. A VS Code on a desktop does not ask.
 */
function mintKeys() {
  const { fetch } = window;
  window.fetch = (resource, options) =>
    String(resource.url ?? resource).endsWith("/mint-key")
      ? Promise.resolve(new Response(new Uint8Array(32).fill(1)))
      : fetch(resource, options);
}
