// Gives a run of `npm test` one temporary folder for everything that the tests write, and deletes it after the run.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { cacheDir } from "./vscode/packages.mjs";

// Where Fairlead or a test writes if it ignores the run's folder.
const OUTSIDE = new Set(["/tmp", "/var/tmp", "/dev/shm", tmpdir()]);
const AT_HOME = [
  ".local/state",
  ".local/share",
  ".config",
  ".cache",
  "Library/Application Support",
  "Library/Caches",
  "AppData/Local",
  ".",
];

// These variables name the folders of programs that otherwise look for their files below the home folder.
const TOOLS = {
  PYENV_ROOT: ".pyenv",
  RUSTUP_HOME: ".rustup",
  CARGO_HOME: ".cargo",
  NVM_DIR: ".nvm",
  VOLTA_HOME: ".volta",
  ASDF_DATA_DIR: ".asdf",
};

/**
 * Makes the folder and returns `{ env, end() }`: the environment for the checks, and a function that removes the folder
 * and returns the paths that the run must not have left. These are paths outside of the folder, and all paths in the
 * home folder of `env`, which must stay empty because each test has its own home folder.
 */
export function isolate() {
  // The name is short because the path of a socket has at most about 100 characters.
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), "fl-"));
  const home = path.join(folder, "home");
  mkdirSync(home);
  const before = new Set(traces());
  const env = { ...process.env, FAIRLEAD_TEST_CACHE: cacheDir() };
  for (const name of Object.keys(env)) if (/^XDG_|^PYTHONDONTWRITEBYTECODE$/.test(name)) delete env[name];
  for (const [name, tool] of Object.entries(TOOLS)) {
    if (env[name] === undefined && existsSync(path.join(homedir(), tool))) env[name] = path.join(homedir(), tool);
  }
  Object.assign(env, {
    TMPDIR: folder,
    TMP: folder,
    TEMP: folder,
    HOME: home,
    USERPROFILE: home,
    LOCALAPPDATA: home,
    APPDATA: home,
  });
  return {
    env,
    end: () => {
      const leftovers = traces().filter((file) => !before.has(file));
      leftovers.push(...readdirSync(home, { recursive: true }).map((name) => path.join(home, name)));
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      return leftovers;
    },
  };
}

/** The paths outside of the run's folder that a test may have created. */
function traces() {
  const outside = [...OUTSIDE].flatMap((folder) => named(folder, /^(fairlead|pytest-of)/i)).flatMap(withoutLayerFolder);
  const atHome = AT_HOME.flatMap((folder) => named(path.join(homedir(), folder), /^\.?(fairlead|hypothesis)/i));
  const cache = cacheDir();
  return [...outside, ...atHome.filter((each) => !each.startsWith(cache)).flatMap(withContent)];
}

// `fairlead-UID` is Fairlead's permanent folder for sandbox layers if its state folder cannot hold them. So this folder
// may stay, and only the paths in it count.
function withoutLayerFolder(folder) {
  return /fairlead-\d+$/.test(folder) ? entries(folder).map((name) => path.join(folder, name)) : [folder];
}

function named(folder, pattern) {
  return entries(folder)
    .filter((name) => pattern.test(name))
    .map((name) => path.join(folder, name));
}

function withContent(folder) {
  return [folder, ...entries(folder, { recursive: true }).map((name) => path.join(folder, name))];
}

function entries(folder, options) {
  try {
    return readdirSync(folder, options);
  } catch {
    return [];
  }
}
