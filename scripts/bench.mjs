// `npm run bench`: runs the benchmarks in the environment of the tests.

import { pythonEnvironment, runInTerminal, venvProgram } from "./process.mjs";
import { ensureNode, ensurePython, main, waitForAll } from "./setup.mjs";

await main(async () => {
  await waitForAll(ensurePython({ dev: true }), ensureNode()); // a language server that is measured comes from npm
  return runInTerminal(
    venvProgram("python"),
    ["benchmarks/speed/run.py", ...process.argv.slice(2)],
    pythonEnvironment(),
  );
});
