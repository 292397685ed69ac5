// The slow steps of the setup. Each prints a line of progress. If one fails, it throws a `SetupError` that says what to
// do, or at least shows the end of the output.

import { existsSync, rmSync } from "node:fs";
import { isWindows, pythonEnvironment, run, venv, venvProgram } from "./process.mjs";
import { say, step } from "./progress.mjs";
import { findPython, SetupError } from "./python.mjs";

// Matches the lines of pip's and npm's output that show that a download failed.
const OFFLINE = new RegExp(
  [
    "new connection|name resolution|network is unreachable|timed? ?out|ProxyError|SSLError", // pip
    "getaddrinfo|ECONN\\w+|ENET\\w+|ETIMEDOUT|EAI_AGAIN|ENOTFOUND", // npm
  ].join("|"),
  "i",
);

const PIP_MIRROR = "PIP_INDEX_URL; for a folder of wheels, set PIP_NO_INDEX=1 and PIP_FIND_LINKS";

/** Creates an empty .venv in place of an older one. Returns its Python: `{ base, version }`. */
export async function makeVenv() {
  const { executable, version } = await findPython();
  say(`Python ${version}, ${executable}`);
  await step(existsSync(venv) ? "recreate .venv" : "create .venv", async () => {
    removeVenv();
    const { code, output } = await run(executable, ["-m", "venv", venv], { env: pythonEnvironment() });
    if (code !== 0) throw new SetupError(`${executable} could not create .venv:\n\n${lastLines(output)}`);
  });
  return { base: executable, version };
}

function removeVenv() {
  try {
    rmSync(venv, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    throw new SetupError(
      `.venv cannot be removed: ${error.message}\n` +
        "Close the programs that run from it, and run the same command again.",
    );
  }
}

/** Installs the packages that these files of requirements/ list into .venv, and Fairlead itself in editable form. */
export async function pipInstall(files) {
  // the files name all that the packages need; older versions of pip refuse some of that if they look for it too
  const requirements = ["--no-deps", ...files.flatMap((name) => ["-r", `requirements/${name}.txt`])];
  await step("install Python packages", async () => {
    for (const args of [requirements, ["--no-deps", "--no-build-isolation", "--editable", "."]]) {
      const { code, output } = await pip(args);
      if (code !== 0) throw downloadError("Python packages", output, PIP_MIRROR);
    }
  });
}

/**
 * Unpacks wheels, without their dependencies, into a folder. The error has `noWheel: true` if there is no wheel for
 * this machine.
 */
export async function installWheels(what, packages, folder) {
  await step(`install ${what}`, async () => {
    const { code, output } = await pip(["--no-deps", "--only-binary=:all:", "--target", folder, ...packages]);
    if (code === 0) return;
    const offline = OFFLINE.test(output);
    const error = downloadError("wheels", output, PIP_MIRROR);
    throw Object.assign(error, { noWheel: !offline && output.includes("No matching distribution") });
  });
}

function pip(args) {
  const options = ["--no-input", "--disable-pip-version-check", "--no-color", "--progress-bar=off"];
  // Inside .venv, pip fails if its settings say to install into the user's own folder.
  const env = pythonEnvironment({ PIP_USER: "0" });
  return run(venvProgram("python"), ["-m", "pip", "install", ...options, ...args], { env });
}

/** Installs the packages of package-lock.json. */
export async function npmCi() {
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retry-mintimeout=2000"];
  const cli = process.env.npm_execpath ?? "";
  await step("install npm packages", async () => {
    const { code, output } = cli.endsWith("npm-cli.js")
      ? await run(process.execPath, [cli, ...args])
      : await run("npm", args, { shell: isWindows });
    if (code !== 0) throw downloadError("npm packages", output, "npm_config_registry");
  });
}

function downloadError(what, output, mirror) {
  const reason = output.split(/\r?\n/).find((line) => OFFLINE.test(line));
  if (reason === undefined) return new SetupError(`The ${what} could not be installed:\n\n${lastLines(output)}`);
  return new SetupError(
    [
      `The ${what} could not be downloaded. The setup needs the network once.`,
      `If you use a proxy, set HTTPS_PROXY; for a mirror, set ${mirror}.`,
      "Then run the same command again. The error was:",
      "",
      reason.trim().slice(0, 300),
    ].join("\n"),
  );
}

function lastLines(output) {
  return output.trim().split("\n").slice(-20).join("\n");
}
