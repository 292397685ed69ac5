// Gives a run of `npm test` one temporary folder for everything that the tests write, and deletes it after the run.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { removeFolder } from "./remove-folder.mjs";
import { cacheDir } from "./vscode/packages.mjs";

// Where Fairlead or a test may write if it ignores the run's folder, in addition to the home folder.
const OUTSIDE = new Set(["/tmp", "/var/tmp", "/dev/shm", tmpdir()]);

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
 * and returns the paths that the run must not have left. These are
 *   - what is in the home folder of `env`, which must stay empty because each test has its own,
 *   - what Fairlead left in the temporary folder of `env`, as it would in the user's, and
 *   - what the tests created elsewhere, as they recorded (tests/support/footprint.py).
 * Files of other programs are none of these, whatever their names are.
 */
export function isolate() {
  // The name is short because the path of a socket has at most about 100 characters.
  const folder = mkdtempSync(path.join(realpathSync(tmpdir()), "fl-"));
  const home = path.join(folder, "home");
  mkdirSync(home);
  const record = path.join(folder, "outside.txt");
  const env = {
    ...process.env,
    FAIRLEAD_TEST_CACHE: cacheDir(),
    FAIRLEAD_TEST_FOOTPRINT: record,
    FAIRLEAD_TEST_WATCHED: [...OUTSIDE, homedir()].join(path.delimiter),
  };
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
      const leftovers = [
        ...readdirSync(home, { recursive: true }).map((name) => path.join(home, name)),
        ...readdirSync(folder)
          .filter((name) => name.startsWith("fairlead"))
          .map((name) => path.join(folder, name)),
        ...leftOutside(record),
      ];
      removeFolder(folder);
      return leftovers;
    },
  };
}

// `fairlead-UID` is Fairlead's permanent folder for sandbox layers if its state folder cannot hold them. So this folder
// may stay, and only the paths in it count.
function leftOutside(record) {
  if (!existsSync(record)) return [];
  const created = new Set(readFileSync(record, "utf8").split("\n"));
  return [...created].filter(
    (file) => existsSync(file) && !created.has(path.dirname(file)) && !/\/fairlead-\d+$/.test(file),
  );
}
