// Runs the tests that drive a real VS Code: node tests/editor/run.mjs [--grep TEXT] [--concurrency N] [FILE...]
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { run } from "node:test";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startBrowser } from "../../scripts/vscode/browser.mjs";
import { ensureHost } from "../../scripts/vscode/install.mjs";
import { root, run as runProgram } from "../../scripts/process.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const LANE = path.join(HERE, "lane.mjs");
// Lanes take files from both ends of the list. So the files that share a window in which commands need an approval are
// at the front, those that share a window with the default settings are at the back, and files with their own windows
// are in the middle.
const ASKING = ["main-job", "plan-run", "plan", "stopping", "terminals", "texts"];
const OWN = [
  "bad-input",
  "package",
  "sessions",
  "resume",
  "retry",
  "budget",
  "buffers",
  "code",
  "models",
  "editor-tasks",
  "hosted-agents",
  "problems",
  "saving",
  "unsavable",
];
const { values, positionals } = parseArgs({
  options: { grep: { type: "string", default: "" }, concurrency: { type: "string" } },
  allowPositionals: true,
});

const files = positionals.length
  ? positionals.map((file) => path.resolve(file))
  : fs
      .readdirSync(HERE)
      .filter((file) => file.endsWith(".test.mjs"))
      .sort((one, other) => Math.sign(rank(one) - rank(other)) || one.localeCompare(other))
      .map((file) => path.join(HERE, file));
const log = (line) => process.stdout.write(`${line}\n`);
const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(1)} s`;
const counts = { passed: 0, failed: 0, skipped: 0 };
const failures = [];

if (files.length === 0) {
  log("There is no tests/editor/*.test.mjs.");
  process.exit();
}
fs.rmSync(path.join(HERE, ".artifacts"), { recursive: true, force: true });
log(`VS Code ${(await prepare()).vscodeVersion}`);
const began = Date.now();
// npm adds the programs of its packages to PATH, among them language servers, which only tests that request them use
const folders = process.env.PATH.split(path.delimiter);
process.env.PATH = folders
  .filter((folder) => path.basename(path.dirname(folder)) !== "node_modules")
  .join(path.delimiter);
process.env.FAIRLEAD_EDITOR_QUEUE = queue();
process.env.FAIRLEAD_EDITOR_GREP = values.grep;
// Unless it is given: one more than the number of cores, because a test spends half of its time waiting for the editor,
// but at most four.
const lanes = Math.min(files.length, Number(values.concurrency ?? Math.min(4, os.availableParallelism() + 1)));
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => stop.abort());
await Promise.all(Array.from({ length: lanes }, play));
fs.rmSync(process.env.FAIRLEAD_EDITOR_QUEUE, { recursive: true });

if (failures.length) log(`\n${failures.join("\n\n")}`);
log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped in ${seconds(Date.now() - began)}`);
if (counts.passed + counts.failed === 0) log("No test was run.");
process.exitCode = stop.signal.aborted || counts.failed || counts.passed === 0 ? 1 : 0;

function rank(file) {
  const order = [...ASKING, ...OWN].indexOf(file.replace(".test.mjs", ""));
  return order < 0 ? Infinity : order;
}

async function prepare() {
  try {
    const host = await ensureHost({ log });
    const build = await runProgram(process.execPath, [path.join(root, "scripts/build.mjs")]);
    if (build.code !== 0) throw new Error(build.output);
    await (await startBrowser({ log })).stop();
    return host;
  } catch (error) {
    // The message says what is missing on this machine; the stack trace would not help.
    log(`${error.message}\n\n0 passed, 1 failed`);
    return process.exit(1);
  }
}

/** A folder with an entry for each file. The lanes take the entries. */
function queue() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "queue-"));
  for (const [n, file] of files.entries()) fs.writeFileSync(path.join(folder, String(n).padStart(3, "0")), file);
  return folder;
}

/** Starts a lane, a process that runs files until none is left, and reports its results. It stops with this process. */
async function play() {
  const stream = run({ files: [LANE], signal: stop.signal });
  // The stream also reports each file as a test, which fails if a test in the file failed. Files are not counted.
  const isFile = (test) => test.nesting === 0 && test.name.endsWith(".mjs");
  stream.on("test:pass", (test) => {
    if (isFile(test)) return;
    const skipped = test.skip !== undefined;
    counts[skipped ? "skipped" : "passed"] += 1;
    if (!skipped) log(`  ok    ${test.name} (${seconds(test.details.duration_ms)})`);
  });
  stream.on("test:fail", (test) => {
    const { error } = test.details;
    if (error.failureType === "subtestsFailed") return;
    const name = path.isAbsolute(test.name) ? path.basename(test.name) : test.name;
    const said = String(error.cause?.stack ?? error.cause ?? error)
      .split("\n")
      .filter((line) => !line.includes("node:internal"));
    counts.failed += 1;
    failures.push([name, ...said.map((line) => `    ${line}`)].join("\n"));
    log(`  FAIL  ${name}`);
  });
  stream.on("test:diagnostic", ({ message }) => {
    if (message.startsWith("figure: ")) log(`        ${message}`);
  });
  stream.on("test:stderr", ({ message }) => process.stderr.write(message));
  for await (const _ of stream.resume()) {
    /* the listeners above do the work */
  }
}
