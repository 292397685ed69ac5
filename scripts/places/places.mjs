// `node scripts/places/places.mjs [PATH...]`: runs the tests that start other programs in clones where users clone. Boxes
// hide the home folder and /tmp, so a program that is installed there may be missing in them. The clones are
//   home     below the home folder of an ordinary user: this one or, if this is root, a new one
//   tmp      below /tmp
//   space    below a folder whose name has a space and Chinese characters
//
//   --only NAME[,NAME]   only these places         --no-editor   without the tests in a real VS Code
//   PATH...              pytest's tests instead of TESTS

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { pythonEnvironment, root, run, venvProgram } from "../process.mjs";
import { say, seconds, withProgress } from "../progress.mjs";
import { removeFolder } from "../remove-folder.mjs";
import { main } from "../setup.mjs";
import { copyCache, makeClone } from "./clone.mjs";
import { makeUser, whyNoUser } from "./user.mjs";

const TESTS = ["tests/code", "tests/shell", "tests/cli"];
const EDITOR_TEST = "tests/editor/problems.test.mjs";
const RESULT = /^(?:=* ?(?:\d+ \w+, )*\d+ \w+ in [\d.]+s\b|\d+ passed, \d+ failed, \d+ skipped in )/;
const FAILURE = /^(?:FAILED|ERROR) | {2}FAIL {2}/;

const PLACES = {
  home: homePlace,
  tmp: () => temporaryPlace("/tmp/fl-"),
  space: () => temporaryPlace("/var/tmp/我的 项目-"),
};

const { values: options, positionals } = parseArgs({
  options: {
    only: { type: "string", default: Object.keys(PLACES).join(",") },
    editor: { type: "boolean", default: true },
  },
  allowNegative: true,
  allowPositionals: true,
});
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => stop.abort());

await main(async () => {
  const start = performance.now();
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const name of options.only.split(",")) {
    if (stop.signal.aborted) break;
    const counts = await testPlace(name);
    for (const key of Object.keys(total)) total[key] += counts[key];
  }
  say(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped in ${seconds(start)}`);
  return stop.signal.aborted || total.failed > 0 ? 1 : 0;
});

/** Tests one place, and prints its result and its failed tests. Returns the numbers of tests. */
async function testPlace(name) {
  const reason = name === "home" ? await whyNoUser() : process.platform === "win32" && "Windows has no such folder";
  if (reason) {
    // On a user's machine a place may be left out; in CI, where root can create users, none.
    const isWanted = Boolean(process.env.CI) && process.getuid?.() === 0;
    say(`place ${name}: ${isWanted ? "FAILED" : "skipped"}: ${reason}`);
    return { passed: 0, failed: isWanted ? 1 : 0, skipped: isWanted ? 0 : 1 };
  }
  const start = performance.now();
  const place = await PLACES[name]();
  try {
    const { counts, failures, output } = await withProgress(`place ${name}`, () => testClone(place));
    const { passed, failed, skipped } = counts;
    say(`place ${name}: ${passed} passed, ${failed} failed, ${skipped} skipped (${place.folder}, ${seconds(start)})`);
    if (failed > 0) say(output);
    for (const line of failures) say(`${line} (in the place ${name})`);
    return counts;
  } finally {
    await place.remove();
  }
}

// The home folder of an ordinary user. Programs run as this user, and find only what this user can read.
async function homePlace() {
  if (process.getuid() === 0) return makeUser();
  const folder = fs.mkdtempSync(path.join(os.userInfo().homedir, "fairlead-place-"));
  return { folder, env: process.env, remove: () => removeFolder(folder) };
}

function temporaryPlace(prefix) {
  fs.mkdirSync(path.dirname(prefix), { recursive: true });
  const folder = fs.mkdtempSync(prefix);
  fs.chmodSync(folder, 0o755);
  return { folder, env: process.env, remove: () => removeFolder(folder) };
}

/** Runs the tests in a clone in this place. Returns `{ counts, failures, output }`. */
async function testClone({ folder, env, account }) {
  const clone = await makeClone(folder, account);
  const as = { cwd: clone, signal: stop.signal, ...account };
  // Two more than there are cores, because a test spends half of its time waiting for its server.
  const workers = String(os.availableParallelism() + 2);
  const tests = positionals.length > 0 ? positionals : TESTS;
  const pytest = ["-m", "pytest", "-n", workers, "--dist", "worksteal", ...tests];
  const python = path.join(clone, path.relative(root, venvProgram("python")));
  const runs = [await run(python, pytest, { ...as, env: pythonEnvironment({}, env) })];
  if (options.editor && !stop.signal.aborted) {
    const cache = await copyCache(folder, account);
    const test = [path.join(clone, "tests", "editor", "run.mjs"), path.join(clone, EDITOR_TEST)];
    runs.push(await run(process.execPath, test, { ...as, env: { ...env, FAIRLEAD_TEST_CACHE: cache } }));
  }
  const lines = runs.map(({ output }) => output.trimEnd().split("\n"));
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const [index, { code }] of runs.entries()) {
    const result = lines[index].findLast((line) => RESULT.test(line)) ?? "";
    const number = (word) => Number(new RegExp(`(\\d+) ${word}`).exec(result)?.[1] ?? 0);
    counts.passed += number("passed");
    counts.skipped += number("skipped");
    // If a runner fails before it prints its counts, that counts as one failure.
    counts.failed += Math.max(number("failed") + number("errors?"), code === 0 ? 0 : 1);
  }
  const failures = lines.flat().filter((line) => FAILURE.test(line));
  return { counts, failures, output: runs.map(({ output }) => output.trimEnd()).join("\n") };
}
