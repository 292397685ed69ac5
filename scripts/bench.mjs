// `npm run bench`: runs the benchmarks in the environment of the tests.

import { pythonEnvironment, runInTerminal, venvProgram } from "./process.mjs";
import { ensurePython, main } from "./setup.mjs";

await main(async () => {
  await ensurePython({ dev: true });
  return runInTerminal(
    venvProgram("python"),
    ["benchmarks/speed/run.py", ...process.argv.slice(2)],
    pythonEnvironment(),
  );
});
