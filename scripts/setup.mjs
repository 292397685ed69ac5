// `npm run setup`: makes .venv (the Python package and the developers' tools) and node_modules (the packages from npm).
// The other scripts make what they need. Each folder is made once, and updated when the files that it was made from
// change. A .venv that does not work (`isUsable`) is made again.

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import path from "node:path";
import { makeVenv, npmCi, pipInstall } from "./install.mjs";
import { withLock } from "./setup-lock.mjs";
import { isMain, isWindows, root, run, venv, venvProgram } from "./process.mjs";
import { say, seconds } from "./progress.mjs";
import { SetupError } from "./python.mjs";

const VENV_STAMP = path.join(venv, "fairlead-setup.json");
const NODE_STAMP = path.join(root, "node_modules", ".fairlead-setup.json");

/** Makes or updates .venv if necessary. It contains the package; with `dev`, also the tools of developers. */
export async function ensurePython({ dev = false } = {}) {
  if (isInstalled(dev)) return;
  await withLock("python", async () => {
    if (isInstalled(dev)) return;
    const old = isUsable() ? readStamp(VENV_STAMP) : undefined;
    const made = old ?? { root, requested: process.env.FAIRLEAD_PYTHON ?? "", ...(await makeVenv()) };
    const withDev = dev || old?.dev === true;
    await pipInstall(withDev ? ["dev"] : ["server", "build"]);
    const stamp = { ...made, interpreter: interpreter(), hash: packageHash(), dev: withDev };
    writeFileSync(VENV_STAMP, JSON.stringify(stamp, null, 2));
  });
}

/** Installs the packages of package-lock.json, if they are not installed yet. */
export async function ensureNode() {
  if (isNodeReady()) return;
  if (Number.parseInt(process.versions.node, 10) < 20) {
    throw new SetupError(`Fairlead's tools need Node 20 or newer; this is ${process.versions.node}.`);
  }
  await withLock("node", async () => {
    if (isNodeReady()) return;
    await npmCi();
    writeFileSync(NODE_STAMP, JSON.stringify({ hash: lockHash() }));
  });
}

/**
 * Waits for all promises, even if one fails. Only then throws the first error, so that its message comes last in the
 * output.
 */
export async function waitForAll(...promises) {
  const results = await Promise.allSettled(promises);
  const failure = results.find((result) => result.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}

/** Runs a program, as `run` does. If it fails, throws a `SetupError` with its output. */
export async function runOrThrow(command, args, options) {
  const { code, output } = await run(command, args, options);
  if (code !== 0) throw new SetupError(output);
}

/**
 * Runs a script's main function, which returns the exit code; undefined is 0. For a `SetupError`, prints its message
 * and sets the exit code to 1. Throws other errors.
 */
export async function main(work) {
  try {
    process.exitCode = await work();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(`\n${error.message}`);
    process.exitCode = 1;
  }
}

function isInstalled(dev) {
  if (!isUsable()) return false;
  const stamp = readStamp(VENV_STAMP);
  return stamp.hash === packageHash() && (stamp.dev || !dev);
}

// The stamp is written last: a .venv without one is incomplete. A .venv that was copied or moved does not work, because
// its scripts contain absolute paths. Nor does one whose Python was replaced by another version. If FAIRLEAD_PYTHON now
// names another Python than when .venv was made, .venv is made again too.
function isUsable() {
  const stamp = readStamp(VENV_STAMP);
  return (
    stamp !== undefined &&
    stamp.root === root &&
    stamp.interpreter === interpreter() &&
    existsSync(stamp.base) &&
    existsSync(venvProgram("fairlead")) &&
    existsSync(sitePackages(stamp.version)) &&
    (process.env.FAIRLEAD_PYTHON || stamp.requested) === stamp.requested
  );
}

function sitePackages(version) {
  const [major, minor] = version.split(".");
  const parts = isWindows ? ["Lib"] : ["lib", `python${major}.${minor}`];
  return path.join(venv, ...parts, "site-packages");
}

function interpreter() {
  try {
    return realpathSync(venvProgram("python"));
  } catch {
    return undefined;
  }
}

function isNodeReady() {
  return readStamp(NODE_STAMP)?.hash === lockHash();
}

function readStamp(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

// Only these tables of pyproject.toml affect an installation; the others are settings of tools.
function packageHash() {
  const tables = readFileSync(path.join(root, "pyproject.toml"), "utf8").split(/^(?=\[)/m);
  const folder = path.join(root, "requirements");
  const pins = readdirSync(folder).map((name) => readFileSync(path.join(folder, name), "utf8"));
  return hash([...tables.filter((table) => /^\[(build-system|project|tool\.hatch)\b/.test(table)), ...pins].join(""));
}

function lockHash() {
  return hash(readFileSync(path.join(root, "package-lock.json")));
}

function hash(content) {
  return createHash("sha256").update(content).digest("hex");
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const start = performance.now();
    await waitForAll(ensurePython({ dev: true }), ensureNode());
    say(`Ready in ${seconds(start)}. Try \`npm run demo\`, or \`npm test\`.`);
  });
}
