// Runs the tests that drive a real VS Code: node tests/editor/run.mjs [--grep TEXT] [--concurrency N] [FILE...]
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { run } from "node:test";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startBrowser } from "./host/browser.mjs";
import { ensureHost } from "./host/install.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const { values, positionals } = parseArgs({
  options: { grep: { type: "string" }, concurrency: { type: "string" } },
  allowPositionals: true,
});

const files = positionals.length
  ? positionals.map((file) => path.resolve(file))
  : fs
      .readdirSync(HERE)
      .filter((file) => file.endsWith(".test.mjs"))
      .sort()
      .map((file) => path.join(HERE, file));
const log = (line) => process.stdout.write(`${line}\n`);
const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(1)} s`;
const results = new Map();

if (files.length === 0) {
  log("There is no tests/editor/*.test.mjs.");
  process.exit();
}
fs.rmSync(path.join(HERE, ".artifacts"), { recursive: true, force: true });
const { vscodeVersion, browser } = await prepare();
process.env.FAIRLEAD_BROWSER_ENDPOINT = browser.endpoint;
log(`VS Code ${vscodeVersion} in ${browser.name}`);
const began = Date.now();

// What failed in a window is tried once more in a new one that has the machine to itself, and told: a busy machine may
// lose a click or a hover, but what is broken fails again.
await play(files, Number(values.concurrency ?? Math.min(4, os.availableParallelism())));
const again = files.filter((file) => results.get(file)?.failed);
if (again.length && !values.grep) {
  log(`  again ${again.map((file) => path.basename(file)).join(", ")}`);
  await play(again, 1);
}

await browser.stop();
const all = [...results.values()];
const counts = Object.fromEntries(["passed", "failed", "skipped"].map((kind) => [kind, all.reduce((sum, one) => sum + one[kind], 0)]));
const failures = all.flatMap((one) => one.failures);
if (failures.length) log(`\n${failures.join("\n\n")}`);
log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped in ${seconds(Date.now() - began)}`);
if (counts.passed + counts.failed === 0) log("No test was run.");
process.exitCode = counts.failed || counts.passed === 0 ? 1 : 0;

async function prepare() {
  try {
    return { ...(await ensureHost({ log })), browser: await startBrowser({ log }) };
  } catch (error) {
    // What is missing on this machine is told to a person; where it was noticed is not.
    log(`${error.message}\n\n0 passed, 1 failed`);
    return process.exit(1);
  }
}

/** Plays files, so many at once, and puts what came of each in place of what is known of it. */
async function play(these, lanes) {
  const waiting = [...these];
  const lane = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) results.set(file, await playFile(file));
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** One file by itself: an entry names the file that called `test`, which may be a helper's. */
async function playFile(file) {
  const result = { passed: 0, failed: 0, skipped: 0, failures: [] };
  const stream = run({
    files: [file],
    timeout: 10 * 60_000,
    testNamePatterns: values.grep ? [new RegExp(values.grep, "i")] : undefined,
  });
  // A file and a suite are entries too; they fail again for each test in them that failed.
  const repeats = (test) =>
    test.details.type === "suite" || test.name === file || test.details.error?.failureType === "subtestsFailed";
  stream.on("test:pass", (test) => {
    if (repeats(test)) return;
    if (values.grep && String(test.skip).includes("does not match")) return;
    const skipped = test.skip !== undefined;
    result[skipped ? "skipped" : "passed"] += 1;
    if (!skipped) log(`  ok    ${test.name} (${seconds(test.details.duration_ms)})`);
  });
  stream.on("test:fail", (test) => {
    const { error } = test.details;
    if (error.failureType === "subtestsFailed") return;
    const name = path.isAbsolute(test.name) ? path.basename(test.name) : test.name;
    const said = String(error.cause?.stack ?? error.cause ?? error)
      .split("\n")
      .filter((line) => !line.includes("node:internal"));
    result.failed += 1;
    result.failures.push([name, ...said.map((line) => `    ${line}`)].join("\n"));
    log(`  FAIL  ${name}`);
  });
  stream.on("test:diagnostic", ({ message }) => {
    if (message.startsWith("figure: ")) log(`        ${message}`);
  });
  stream.on("test:stderr", ({ message }) => process.stderr.write(message));
  for await (const _ of stream.resume()) {
    /* the listeners above do the work */
  }
  return result;
}
