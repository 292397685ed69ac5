// The set-up: .venv with the Python package, node_modules with the tools. Each is made once, and again when what it
// was made from has changed. `npm run setup` does both; the other scripts call what they need.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import path from "node:path";
import { makeVenv, npmCi, pipInstall } from "./install.mjs";
import { withLock } from "./lock.mjs";
import { isMain, root, venv, venvProgram, windows } from "./process.mjs";
import { say, seconds } from "./progress.mjs";
import { SetupError } from "./python.mjs";

const VENV_STAMP = path.join(venv, "fairlead-setup.json");
const NODE_STAMP = path.join(root, "node_modules", ".fairlead-setup.json");

/** Makes .venv and installs the package into it, with these extras; what an earlier set-up installed stays. */
export async function ensurePython({ extras = [] } = {}) {
  if (isInstalled(extras)) return;
  await withLock("python", async () => {
    if (isInstalled(extras)) return;
    const old = isUsable() ? readStamp(VENV_STAMP) : undefined;
    const wanted = [...new Set([...(old?.extras ?? []), ...extras])].sort();
    const made = old ?? { root, asked: process.env.FAIRLEAD_PYTHON ?? "", ...(await makeVenv()) };
    await pipInstall(wanted);
    const stamp = { ...made, interpreter: interpreter(), hash: packageHash(), extras: wanted };
    writeFileSync(VENV_STAMP, JSON.stringify(stamp, null, 2));
  });
}

/** Installs what package-lock.json names. */
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

/** Waits for all of these, and only then fails with the first that did: no line comes after the message. */
export async function together(...work) {
  const ended = await Promise.allSettled(work);
  const failure = ended.find((each) => each.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}

/** Runs a script's main function; a set-up that the person can mend ends in its message and the code 1. */
export async function main(work) {
  try {
    process.exitCode = await work();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(`\n${error.message}`);
    process.exitCode = 1;
  }
}

function isInstalled(extras) {
  if (!isUsable()) return false;
  const stamp = readStamp(VENV_STAMP);
  return stamp.hash === packageHash() && extras.every((extra) => stamp.extras.includes(extra));
}

// The stamp is written last, so a .venv without one is half made. Scripts in it hold absolute paths, so a copied or
// moved one is of no use; neither is one whose Python was replaced by another version.
function isUsable() {
  const stamp = readStamp(VENV_STAMP);
  return (
    stamp !== undefined &&
    stamp.root === root &&
    stamp.interpreter === interpreter() &&
    existsSync(stamp.base) &&
    existsSync(venvProgram("fairlead")) &&
    existsSync(sitePackages(stamp.version)) &&
    (process.env.FAIRLEAD_PYTHON || stamp.asked) === stamp.asked
  );
}

function sitePackages(version) {
  const [major, minor] = version.split(".");
  const parts = windows ? ["Lib"] : ["lib", `python${major}.${minor}`];
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

// The settings of the linters live in the same file, and need no new installation.
function packageHash() {
  const tables = readFileSync(path.join(root, "pyproject.toml"), "utf8").split(/^(?=\[)/m);
  return hash(tables.filter((table) => /^\[(build-system|project|tool\.hatch)\b/.test(table)).join(""));
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
    await together(ensurePython({ extras: ["dev"] }), ensureNode());
    say(`Ready in ${seconds(start)}. Try \`npm run demo\`, or \`npm test\`.`);
  });
}
