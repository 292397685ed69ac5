// The slow steps of the set-up, each with a line of progress and an error that says what to do.

import { existsSync, rmSync } from "node:fs";
import { pythonEnvironment, run, venv, venvProgram, windows } from "./process.mjs";
import { say, step } from "./progress.mjs";
import { findPython, SetupError } from "./python.mjs";

const OFFLINE = new RegExp(
  [
    "new connection|name resolution|network is unreachable|timed? ?out|ProxyError|SSLError", // pip
    "getaddrinfo|ECONN\\w+|ENET\\w+|ETIMEDOUT|EAI_AGAIN|ENOTFOUND", // npm
  ].join("|"),
  "i",
);

const PIP_MIRROR = "PIP_INDEX_URL, for a folder of wheels PIP_NO_INDEX=1 and PIP_FIND_LINKS";

/** Makes an empty .venv, whatever was there before, and says which Python it stands on. */
export async function makeVenv() {
  const { executable, version } = await findPython();
  say(`Python ${version}, ${executable}`);
  await step(existsSync(venv) ? "make .venv anew" : "make .venv", async () => {
    removeVenv();
    const { code, output } = await run(executable, ["-m", "venv", venv], { env: pythonEnvironment() });
    if (code !== 0) throw new SetupError(`${executable} could not make .venv:\n\n${lastLines(output)}`);
  });
  return { base: executable, version };
}

function removeVenv() {
  try {
    rmSync(venv, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    throw new SetupError(
      `.venv must be made anew, but it cannot be removed: ${error.message}\n` +
        "Close what still runs from it, and run the same command again.",
    );
  }
}

/** Installs the Python package into .venv in such a way that edits of its files count at once. */
export async function pipInstall(extras) {
  const target = extras.length > 0 ? `.[${extras.join(",")}]` : ".";
  const options = ["--no-input", "--disable-pip-version-check", "--no-color", "--progress-bar=off"];
  const args = ["-m", "pip", "install", ...options, "-e", target];
  // A setting of the person that sends packages to the user's own folder does not work inside .venv.
  const env = pythonEnvironment({ PIP_USER: "0" });
  await step("install Python packages", async () => {
    const { code, output } = await run(venvProgram("python"), args, { env });
    if (code !== 0) throw downloadError("Python packages", output, PIP_MIRROR);
  });
}

/** Unpacks wheels, without what they depend on, into a folder. An error has `noWheel` if there is none for this machine. */
export async function installWheels(what, packages, folder) {
  const options = ["--no-input", "--disable-pip-version-check", "--no-color", "--progress-bar=off"];
  const args = [
    "-m",
    "pip",
    "install",
    ...options,
    "--no-deps",
    "--only-binary=:all:",
    "--target",
    folder,
    ...packages,
  ];
  const env = pythonEnvironment({ PIP_USER: "0" });
  await step(`install ${what}`, async () => {
    const { code, output } = await run(venvProgram("python"), args, { env });
    if (code === 0) return;
    const offline = OFFLINE.test(output);
    const error = downloadError("wheels", output, PIP_MIRROR);
    throw Object.assign(error, { noWheel: !offline && output.includes("No matching distribution") });
  });
}

/** Installs exactly what package-lock.json names. */
export async function npmCi() {
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retry-mintimeout=2000"];
  const cli = process.env.npm_execpath ?? "";
  await step("install npm packages", async () => {
    const { code, output } = cli.endsWith("npm-cli.js")
      ? await run(process.execPath, [cli, ...args])
      : await run("npm", args, { shell: windows });
    if (code !== 0) throw downloadError("npm packages", output, "npm_config_registry");
  });
}

function downloadError(what, output, mirror) {
  const reason = output.split(/\r?\n/).find((line) => OFFLINE.test(line));
  if (reason === undefined) return new SetupError(`The ${what} could not be installed:\n\n${lastLines(output)}`);
  return new SetupError(
    [
      `The ${what} could not be downloaded; the set-up needs the network once.`,
      `Behind a proxy set HTTPS_PROXY; for a mirror set ${mirror}.`,
      "Then run the same command again. What was said:",
      "",
      reason.trim().slice(0, 300),
    ].join("\n"),
  );
}

function lastLines(output) {
  return output.trim().split("\n").slice(-20).join("\n");
}
