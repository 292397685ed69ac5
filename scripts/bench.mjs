// `npm run bench`: runs the benchmarks in the environment of the tests.

import { pythonEnvironment, runHere, venvProgram } from "./process.mjs";
import { ensurePython, main } from "./setup.mjs";

await main(async () => {
  await ensurePython({ dev: true });
  return runHere(venvProgram("python"), ["benchmarks/speed/run.py", ...process.argv.slice(2)], pythonEnvironment());
});
