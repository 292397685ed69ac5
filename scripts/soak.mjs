// `npm run soak -- --runs 20 --busy 10`: repeats `npm run test:all`, and stops at the first failure.
//
//   --runs N     the number of runs (default 20)
//   --busy M     the last M runs have a busy loop on each core (default 10)
//   --log FILE   a line for each run (default .build/soak.log); the output of each run is written next to it
//   -- ARGS      arguments for `npm run test:all`

import { spawn } from "node:child_process";
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { root } from "./process.mjs";
import { say, withProgress } from "./progress.mjs";
import { SetupError } from "./python.mjs";
import { main } from "./setup.mjs";

// Ends when this script ends or is killed, because that closes the pipe to the loop's standard input.
const BUSY_LOOP = `
process.stdin.on("close", () => process.exit()).resume();
(function loop() {
  for (const end = Date.now() + 50; Date.now() < end; );
  setImmediate(loop);
})();`;

await main(async () => {
  const { runs, busy, log, forTests } = readOptions();
  mkdirSync(path.dirname(log), { recursive: true });
  for (let number = 1; number <= runs; number++) {
    const loops = number > runs - busy ? startBusyLoops() : [];
    const result = await runTests(number, log, forTests).finally(() => loops.forEach((loop) => loop.kill("SIGKILL")));
    const line = `run ${number}  ${result.start}  ${result.seconds} s  ${result.counts}  load ${result.load}${loops.length > 0 ? "  busy" : ""}`;
    appendFileSync(log, `${line}\n`);
    say(line);
    if (result.code !== 0) {
      say(`Failed: ${result.failed.join(", ") || `exit code ${result.code}`}. The output is in ${result.output}`);
      return 1;
    }
  }
  say(`${runs} runs passed. The log is in ${log}`);
  return 0;
});

function readOptions() {
  try {
    const { values, positionals } = parseArgs({
      options: {
        runs: { type: "string", default: "20" },
        busy: { type: "string", default: "10" },
        log: { type: "string", default: path.join(root, ".build", "soak.log") },
      },
      allowPositionals: true,
    });
    return { runs: count(values.runs), busy: count(values.busy), log: path.resolve(values.log), forTests: positionals };
  } catch (error) {
    throw new SetupError(error.message);
  }
}

function count(text) {
  if (!/^\d+$/.test(text)) throw new SetupError(`${text} is not a number of runs.`);
  return Number(text);
}

function startBusyLoops() {
  return Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ["-e", BUSY_LOOP], { stdio: ["pipe", "ignore", "ignore"] }),
  );
}

async function runTests(number, log, args) {
  const { dir, name } = path.parse(log);
  const output = path.join(dir, `${name}-${number}.txt`);
  const file = openSync(output, "w");
  const [start, began] = [new Date().toISOString(), performance.now()];
  const code = await withProgress(`run ${number}`, () =>
    exitCode([path.join(root, "scripts", "test.mjs"), "--all", ...args], file),
  );
  closeSync(file);
  const text = readFileSync(output, "utf8");
  return {
    code,
    output,
    start,
    seconds: Math.round((performance.now() - began) / 1000),
    counts: text.match(/^\d+ passed, \d+ failed$/gm)?.at(-1) ?? "not counted",
    load: loadavg()[0].toFixed(1),
    // Only the report at the end has the name of a check before its state.
    failed: [...text.matchAll(/^(\S+) +FAILED\b/gm)].map((match) => match[1]),
  };
}

function exitCode(args, file) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", file, file] });
    const stop = () => child.kill("SIGTERM");
    process.once("SIGTERM", stop);
    child.on("error", reject);
    child.on("close", (code) => {
      process.off("SIGTERM", stop);
      resolve(code ?? 1);
    });
  });
}
