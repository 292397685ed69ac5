// `npm test`: sets up what is needed, then runs every check and says what each took. CI runs the same command.
//
//   --only NAME[,NAME]   these checks alone        --no-editor      all but the tests in a real VS Code
//   --pytest "ARGS"      passed on to pytest       --list           the names of the checks

import { parseArgs } from "node:util";
import { checks } from "./checks.mjs";
import { isolate } from "./isolation.mjs";
import { run } from "./process.mjs";
import { during, say, seconds } from "./progress.mjs";
import { SetupError } from "./python.mjs";
import { ensureNode, ensurePython, main, together } from "./setup.mjs";
import { ensureWheels } from "./wheels.mjs";

await main(async () => {
  const options = readOptions();
  const all = checks({ pytest: splitArguments(options.pytest) });
  if (options.list) {
    say(all.map((check) => check.name).join("\n"));
    return 0;
  }
  await setUp(choose(all, options).filter((check) => check.absent === undefined));

  const start = performance.now();
  const isolation = isolate();
  const chosen = choose(checks({ pytest: splitArguments(options.pytest), env: isolation.env }), options);
  const results = [];
  try {
    await runAll(chosen, results);
  } finally {
    results.push(leftovers(isolation.end()));
  }
  report(results, start);
  return results.some((result) => result.state === "FAILED") ? 1 : 0;
});

function readOptions() {
  const args = process.argv.slice(2);
  // parseArgs takes a value that begins with a dash only behind an equals sign.
  const at = args.indexOf("--pytest");
  if (at >= 0) args.splice(at, 2, `--pytest=${args[at + 1] ?? ""}`);
  try {
    return parseArgs({
      args,
      options: {
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

function choose(all, { only, editor }) {
  const names = only?.split(",");
  const unknown = names?.filter((name) => !all.some((check) => check.name === name)) ?? [];
  if (unknown.length > 0) {
    throw new SetupError(`No check is called ${unknown.join(", ")}. There are: ${all.map((c) => c.name).join(", ")}.`);
  }
  return all
    .filter((check) => names?.includes(check.name) ?? !check.optional)
    .map((check) => (check.name === "editor" && !editor ? { ...check, absent: "--no-editor" } : check));
}

async function setUp(chosen) {
  const needed = new Set(chosen.flatMap((check) => check.needs));
  await together(
    needed.has("python") ? ensurePython({ dev: true }) : undefined,
    needed.has("node") ? ensureNode() : undefined,
  );
  for (const name of ["local-model", "neovim"]) if (needed.has(name)) await ensureWheels(name);
  // Where it cannot be installed, the check itself says why.
  if (needed.has("vscode")) await installEditor().catch(() => {});
}

async function installEditor() {
  const { startBrowser } = await import("../tests/editor/host/browser.mjs");
  await (await startBrowser({ log: say })).stop();
}

// Two at a time, because most of them use one core; those that measure time come one by one at the end.
async function runAll(chosen, results) {
  const together = chosen.filter((check) => !check.alone);
  const worker = async () => {
    for (let check = together.shift(); check !== undefined; check = together.shift()) results.push(await runOne(check));
  };
  await Promise.all([worker(), worker()]);
  for (const check of chosen.filter((each) => each.alone)) results.push(await runOne(check));
}

// Not even a run that passes may leave anything behind in the user's folders.
function leftovers(left) {
  const state = left.length > 0 ? "FAILED" : "ok";
  return { name: "leftovers", state, passed: left.length > 0 ? 0 : 1, failed: left.length, failures: left };
}

async function runOne(check) {
  if (check.absent !== undefined) {
    say(`${"left out".padEnd(9)} ${check.name.padEnd(10)} ${check.absent}`);
    return { name: check.name, state: "left out", note: check.absent, passed: 0, failed: 0 };
  }
  const start = performance.now();
  const { code, output } = await during(check.name, () => run(check.command, check.args, { env: check.env }));
  const ok = code === 0;
  const counted = check.count?.(output, check.summary) ?? { passed: ok ? 1 : 0, failed: 0 };
  // A runner that breaks down before it counts has failed once.
  const failed = ok ? counted.failed : Math.max(1, counted.failed);
  const state = ok && failed === 0 ? "ok" : "FAILED";
  const took = seconds(start);
  say(`${state.padEnd(9)} ${check.name.padEnd(10)} ${took.padStart(8)}`);
  const lines = output.trimEnd().split(/\r?\n/);
  const shown = lines.filter((line) => (state === "ok" ? check.summary?.test(line) : !check.passing?.test(line)));
  if (shown.length > 0) say(shown.join("\n"));
  const failures = state === "ok" ? [] : lines.filter((line) => check.failure?.test(line));
  const note = check.count && `${counted.passed} passed`;
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
  // Every check counts as one test, so that the line never says "0 failed" where the exit code says otherwise.
  say(`${sum(results, "passed")} passed, ${sum(results, "failed")} failed`);
}

function sum(results, key) {
  return results.reduce((total, result) => total + result[key], 0);
}

function splitArguments(text) {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3]);
}
