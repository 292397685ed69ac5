// `npm run demo`: plays the recorded conversation on the example workspace.
// After the setup it needs no network and no key.

import { pythonEnvironment, runInTerminal, venvProgram } from "./process.mjs";
import { ensurePython, main } from "./setup.mjs";

await main(async () => {
  await ensurePython();
  return runInTerminal(venvProgram("fairlead"), ["demo", ...process.argv.slice(2)], pythonEnvironment());
});
