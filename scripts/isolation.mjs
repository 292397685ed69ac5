// A run of the tests has one temporary folder. Everything that a test makes belongs in it, and goes with it.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { cacheDir } from "../tests/editor/host/packages.mjs";

// Where a program of ours would write if it knew nothing of the run's folder.
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

// Programs that look for their parts below the home folder, unless these variables name another one.
const TOOLS = {
  PYENV_ROOT: ".pyenv",
  RUSTUP_HOME: ".rustup",
  CARGO_HOME: ".cargo",
  NVM_DIR: ".nvm",
  VOLTA_HOME: ".volta",
  ASDF_DATA_DIR: ".asdf",
};

/**
 * Makes the folder and returns `{ env, end() }`: the environment for the checks, and what removes the folder again and
 * returns the paths that the run left elsewhere. The home folder in `env` must stay empty: each test has its own.
 */
export function isolate() {
  // A short name, because the path of a socket below it must not have more than about 100 characters.
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
      const left = traces().filter((each) => !before.has(each));
      left.push(...readdirSync(home, { recursive: true }).map((name) => path.join(home, name)));
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      return left;
    },
  };
}

/** Paths outside of the run's folder that a test may have made. */
function traces() {
  const outside = [...OUTSIDE].flatMap((folder) => named(folder, /^(fairlead|pytest-of)/i)).flatMap(withoutPlace);
  const atHome = AT_HOME.flatMap((folder) => named(path.join(homedir(), folder), /^\.?(fairlead|hypothesis)/i));
  const cache = cacheDir();
  return [...outside, ...atHome.filter((each) => !each.startsWith(cache)).flatMap(withContent)];
}

// Where the state folder can hold no sandbox layers, Fairlead has a place here for good; it must be empty.
function withoutPlace(folder) {
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
