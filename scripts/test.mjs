// `npm test`: sets up what is needed, then runs the checks and prints the duration of each. `npm run test:all` does the
// same with `--all`: every check, and all tests of each. CI runs that.
//
//   --only NAME[,NAME]   only these checks         --no-editor      without the tests in a real VS Code
//   --pytest "ARGS"      passed to pytest          --list           prints the names of the checks

import { parseArgs } from "node:util";
import { ensureAcpClients } from "./acp-clients.mjs";
import { checks } from "./checks.mjs";
import { isolate } from "./isolation.mjs";
import { run } from "./process.mjs";
import { say, seconds, withProgress } from "./progress.mjs";
import { SetupError } from "./python.mjs";
import { ensureConformance } from "./conformance.mjs";
import { ensureNode, ensurePython, main, waitForAll } from "./setup.mjs";
import { ensureWheels } from "./wheels.mjs";

await main(async () => {
  const options = readOptions();
  const listed = checks({ editor: options.editor });
  if (options.list) {
    say(listed.map((check) => check.name).join("\n"));
    return 0;
  }
  await setUp(choose(listed, options).filter((check) => check.leftOutBy === undefined));

  const start = performance.now();
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => stop.abort());
  const isolation = isolate();
  const { all, editor, pytest } = options;
  const chosen = choose(checks({ all, editor, pytest: splitArguments(pytest), env: isolation.env }), options);
  const results = [];
  try {
    await runAll(chosen, results, stop.signal);
  } finally {
    results.push(leftovers(isolation.end()));
  }
  report(results, start);
  if (stop.signal.aborted) throw new SetupError("The run was stopped.");
  return results.some((result) => result.state === "FAILED") ? 1 : 0;
});

function readOptions() {
  const args = process.argv.slice(2);
  // parseArgs accepts a value that begins with a dash only after an equals sign.
  const at = args.indexOf("--pytest");
  if (at >= 0) args.splice(at, 2, `--pytest=${args[at + 1] ?? ""}`);
  try {
    return parseArgs({
      args,
      options: {
        all: { type: "boolean", default: false },
        only: { type: "string" },
        pytest: { type: "string", default: "" },
        editor: { type: "boolean", default: true },
        list: { type: "boolean", default: false },
      },
      allowNegative: true,
    }).values;
  } catch (error) {
    throw new SetupError(error.message);
  }
}

function choose(listed, { all, only }) {
  const names = only?.split(",");
  const unknown = names?.filter((name) => !listed.some((check) => check.name === name)) ?? [];
  if (unknown.length > 0) {
    const known = listed.map((check) => check.name).join(", ");
    throw new SetupError(`No check is called ${unknown.join(", ")}. There are: ${known}.`);
  }
  return listed.filter((check) => names?.includes(check.name) ?? !(check.optional || (check.slow && !all)));
}

// Every check gets both .venv and node_modules: many tests in Python start programs from npm, and the reverse.
async function setUp(chosen) {
  const needed = new Set(chosen.flatMap((check) => check.needs ?? []));
  await waitForAll(ensurePython({ dev: true }), ensureNode());
  for (const name of ["local-model", "litellm", "dasllama", "tool-servers", "neovim"])
    if (needed.has(name)) await ensureWheels(name);
  if (needed.has("conformance")) await ensureConformance();
  if (needed.has("acp-clients")) await ensureAcpClients();
  // If this fails, the check reports the reason.
  if (needed.has("vscode")) await installEditor().catch(() => {});
}

async function installEditor() {
  const { startBrowser } = await import("./vscode/browser.mjs");
  await (await startBrowser({ log: say })).stop();
}

// Runs two checks at a time, because most use one core; then, one at a time, those that must run alone. If `signal` is
// aborted, starts no more checks and ends the running ones.
async function runAll(chosen, results, signal) {
  const runAllOf = async (queue) => {
    for (let check = queue.shift(); check && !signal.aborted; check = queue.shift()) {
      results.push(await runOne(check, signal));
    }
  };
  const others = chosen.filter((check) => !check.alone);
  await Promise.all([runAllOf(others), runAllOf(others)]);
  await runAllOf(chosen.filter((check) => check.alone));
}

// A run fails if it leaves files in the user's folders or the system's temporary folders (`isolate`).
function leftovers(paths) {
  const state = paths.length > 0 ? "FAILED" : "ok";
  return { name: "leftovers", state, passed: paths.length > 0 ? 0 : 1, failed: paths.length, failures: paths };
}

async function runOne(check, signal) {
  if (check.leftOutBy !== undefined) {
    say(`${"left out".padEnd(9)} ${check.name.padEnd(10)} ${check.leftOutBy}`);
    return { name: check.name, state: "left out", note: check.leftOutBy, passed: 0, failed: 0 };
  }
  const start = performance.now();
  const { code, output } = await withProgress(check.name, () =>
    run(check.command, check.args, { env: check.env, signal }),
  );
  const ok = code === 0;
  const counted = check.count?.(output, check.summary) ?? { passed: ok ? 1 : 0, failed: 0 };
  // If a runner fails before it prints its counts, that counts as one failure.
  const failed = ok ? counted.failed : Math.max(1, counted.failed);
  const isSkipped = counted.skipped > 0 && counted.passed === 0;
  const state = !ok || failed > 0 ? "FAILED" : isSkipped ? "skipped" : "ok";
  const took = seconds(start);
  say(`${state.padEnd(9)} ${check.name.padEnd(10)} ${took.padStart(8)}`);
  const lines = output.trimEnd().split(/\r?\n/);
  const shown = lines.filter((line) => (state === "FAILED" ? !check.passing?.test(line) : check.summary?.test(line)));
  if (shown.length > 0) say(shown.join("\n"));
  const failures = state === "FAILED" ? lines.filter((line) => check.failure?.test(line)) : [];
  const note = check.count && (isSkipped ? `${counted.skipped} skipped` : `${counted.passed} passed`);
  return { name: check.name, state, took, passed: counted.passed, failed, failures, note };
}

function report(results, start) {
  say("\n----------------------------------------");
  for (const { name, state, took = "", failed, failures = [], note } of results) {
    const counts = state === "FAILED" && note ? `${note}, ${failed} failed` : (note ?? "");
    say(`${name.padEnd(10)} ${state.padEnd(9)} ${took.padStart(8)}  ${counts}`.trimEnd());
    for (const line of failures) say(`  ${line.trim()}`);
  }
  say(`${"all".padEnd(20)} ${seconds(start).padStart(8)}\n`);
  // Checks without tests count as one test, so the line says "0 failed" only if the exit code is 0.
  say(`${sum(results, "passed")} passed, ${sum(results, "failed")} failed`);
}

function sum(results, key) {
  return results.reduce((total, result) => total + result[key], 0);
}

function splitArguments(text) {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3]);
}
