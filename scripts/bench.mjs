// `npm run bench`: the measurements, in the same environment as the tests.

import { exists, pythonEnvironment, runHere, venvProgram } from "./process.mjs";
import { ensurePython, main } from "./setup.mjs";
import { SetupError } from "./python.mjs";

await main(async () => {
  if (!exists("tests", "bench", "run.py")) throw new SetupError("There is no tests/bench/run.py yet.");
  await ensurePython({ extras: ["dev"] });
  return runHere(venvProgram("python"), ["tests/bench/run.py", ...process.argv.slice(2)], pythonEnvironment());
});
