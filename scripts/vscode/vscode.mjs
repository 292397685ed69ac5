// Starts VS Code's server on a loopback port, separate from the user's own VS Code.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { registerStop } from "./ending.mjs";
import { ensureHost } from "./install.mjs";
import { run } from "./packages.mjs";

// Turns off the welcome page, tips, updates, telemetry and VS Code's own AI features.
const QUIET = {
  "chat.commandCenter.enabled": false,
  "chat.disableAIFeatures": true,
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  // As on a desktop. In a browser, VS Code saves automatically.
  "files.autoSave": "off",
  "git.openRepositoryInParentFolders": "never",
  // Forwarding would check every process of the machine every two seconds.
  "remote.autoForwardPorts": false,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "window.autoDetectColorScheme": true,
  "window.commandCenter": false,
  // The default title also contains the name of the application, which is not VS Code here.
  "window.title": "${dirty}${activeEditorShort}${separator}${rootName}",
  "workbench.enableExperiments": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
};

/**
 * Starts a VS Code with fresh data folders.
 *
 * workspace   a folder or a .code-workspace file, or a function that makes one in the given scratch folder and returns
 *             its path; without a workspace, the window is empty
 * extensions  unpacked extension folders (loaded in place) and .vsix files (installed)
 * settings    user settings in addition to `QUIET`
 * env         variables in addition to those of this process, except for those of npm, Git, XDG and editors; a variable
 *             that is `undefined` is removed. HOME (on Windows, USERPROFILE) is a new folder unless given here
 * port        0 (the default) means any free port
 * trust       'off': every workspace is trusted; 'restricted': no workspace is trusted at first; 'ask': the same, and a
 *             dialog asks whether to trust it
 * log         called with each line about the installation of VS Code; by default, lines go to standard error
 *
 * Returns `{ url, port, workspace, scratch, userDataDir, home, env, logs(), stop() }`. The url contains a secret, so
 * that no other user of the machine can connect. `stop()` ends every process, removes the scratch folder, and returns
 * the processes that did not end with the server, as `{ pid, command }` (on Linux).
 */
export async function startVSCode({ port = 0, trust = "off", log, ...wanted } = {}) {
  const host = await ensureHost({ log });
  // A short path, because the path of a Unix socket has at most about 100 characters.
  const scratch = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-editor-")));
  let prepared;
  try {
    prepared = await prepare(host, scratch, { trust, ...wanted });
  } catch (error) {
    fs.rmSync(scratch, { recursive: true, force: true });
    throw error;
  }
  const { workspace, dirs, env, token, tokenFile } = prepared;

  // A login shell would set another PATH, and with it another Python than the one that the tests chose.
  const flags = ["--force-disable-user-env", "--disable-telemetry", "--disable-getting-started-override"];
  if (trust === "off") flags.push("--disable-workspace-trust");
  const address = ["--host", "127.0.0.1", "--port", String(port), "--connection-token-file", tokenFile];
  const keeper = startKeeper(scratch, env, [host.node, host.server, ...address, ...flags, ...dirs]);
  const server = {
    workspace,
    scratch,
    userDataDir: path.join(scratch, "user"),
    home: path.join(scratch, "home"),
    env,
    logs: () => logs(scratch),
    stop: async () => (await keeper.stop()).left,
  };
  server.port = await listening(path.join(scratch, "server.log"), keeper);
  server.url = `http://127.0.0.1:${server.port}/?${query(token, workspace)}`;
  return server;
}

/** Writes the user settings: `QUIET` with these changes. */
function writeSettings(userDataDir, settings) {
  fs.writeFileSync(path.join(userDataDir, "User", "settings.json"), JSON.stringify({ ...QUIET, ...settings }, null, 2));
}

/** Creates the files in the scratch folder that the start needs, and installs the extensions. */
async function prepare(host, scratch, { workspace, extensions = [], settings = {}, env = {}, trust }) {
  const folder = (name) => {
    const dir = path.join(scratch, name);
    fs.mkdirSync(dir, { recursive: true });
    return dir;
  };
  const token = randomBytes(16).toString("hex");
  const tokenFile = path.join(scratch, "token");
  fs.writeFileSync(tokenFile, token, { mode: 0o600 });
  const asks = trust === "ask" ? { "security.workspace.trust.startupPrompt": "always" } : {};
  folder("user/User");
  writeSettings(path.join(scratch, "user"), { ...asks, ...settings });
  const extensionsDir = folder("extensions");
  const dirs = ["--user-data-dir", folder("user"), "--extensions-dir", extensionsDir];
  dirs.push("--server-data-dir", folder("server"), "--accept-server-license-terms");
  const childEnv = environment({ home: folder("home"), runtime: folder("run"), overrides: env });
  for (const extension of extensions.filter((each) => !each.endsWith(".vsix"))) link(extension, extensionsDir);
  for (const vsix of extensions.filter((each) => each.endsWith(".vsix"))) {
    await run(host.node, [host.server, ...dirs, "--install-extension", path.resolve(vsix)], { env: childEnv });
  }
  const opened = typeof workspace === "function" ? workspace(scratch) : workspace && path.resolve(workspace);
  return { workspace: opened, dirs, env: childEnv, token, tokenFile };
}

/** Runs the command under keeper.mjs. Returns `{ ended(), stop() }`; `stop()` returns what keeper.mjs reports. */
function startKeeper(scratch, env, command) {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL("keeper.mjs", import.meta.url)), path.basename(scratch), scratch, ...command],
    { env, detached: true, stdio: ["pipe", "pipe", "inherit"], windowsHide: true },
  );
  let said = "";
  child.stdout.on("data", (data) => {
    said += data;
  });
  child.stdin.on("error", () => {});
  const gone = new Promise((resolve) => {
    child.on("close", resolve);
  });
  const stop = async () => {
    child.stdin.end();
    await gone;
    return said.trim() ? JSON.parse(said) : { left: [], log: "" };
  };
  const unregister = registerStop(stop);
  void gone.then(unregister);
  return { ended: () => child.exitCode !== null, stop };
}

function environment({ home, runtime, overrides }) {
  const base = { ...process.env };
  for (const name of Object.keys(base)) {
    // The extension must not get variables of npm, or of an editor that this script runs in: users do not have them.
    if (/^(npm_|VSCODE_|NODE_OPTIONS$|NODE_TEST_CONTEXT$|XDG_|ELECTRON_|GIT_|TERM_PROGRAM)/i.test(name)) {
      delete base[name];
    }
  }
  const fresh = process.platform === "win32" ? { USERPROFILE: home } : { HOME: home };
  if (process.platform === "linux") fresh.XDG_RUNTIME_DIR = runtime;
  const merged = { ...base, ...fresh, ...overrides };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined));
}

function link(extension, extensionsDir) {
  const { publisher, name, version } = JSON.parse(fs.readFileSync(path.join(extension, "package.json"), "utf8"));
  fs.symlinkSync(path.resolve(extension), path.join(extensionsDir, `${publisher}.${name}-${version}`), "junction");
}

function query(token, workspace) {
  const parameters = new URLSearchParams({ tkn: token });
  if (!workspace) parameters.set("ew", "true");
  else {
    const where = workspace.replaceAll("\\", "/");
    parameters.set(
      where.endsWith(".code-workspace") ? "workspace" : "folder",
      where.startsWith("/") ? where : `/${where}`,
    );
  }
  return parameters.toString();
}

async function listening(serverLog, keeper) {
  const deadline = Date.now() + 30_000;
  let text = "";
  for (;;) {
    if (fs.existsSync(serverLog)) text = fs.readFileSync(serverLog, "utf8");
    const port = /listening on (\d+)/.exec(text)?.[1];
    if (port && (await answers(`http://127.0.0.1:${port}/version`))) return Number(port);
    // If another program uses the port, VS Code's server does not end, but listens on none.
    const refused = text.includes("Error occurred in server");
    if (refused || keeper.ended() || Date.now() > deadline) {
      throw new Error(`VS Code's server did not start:\n${(await keeper.stop()).log}`);
    }
    await pause(20);
  }
}

async function answers(url) {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

function logs(scratch) {
  // Not the whole scratch folder: `readdirSync` would follow the link to the extension in it, and list the packages of
  // this checkout.
  const folder = path.join("user", "logs");
  // If the server ends meanwhile, the folder is removed while this reads it.
  try {
    const found = fs.readdirSync(path.join(scratch, folder), { recursive: true });
    const files = found.filter((file) => file.endsWith(".log")).map((file) => path.join(folder, file));
    return ["server.log", ...files]
      .map((file) => `==== ${file}\n${fs.readFileSync(path.join(scratch, file), "utf8")}`)
      .join("\n");
  } catch (error) {
    return `no logs: ${error.message}`;
  }
}
