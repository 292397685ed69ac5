// `npm run demo`: the recorded conversation on the example workspace; needs no key and no network after the set-up.

import { pythonEnvironment, runHere, venvProgram } from "./process.mjs";
import { ensurePython, main } from "./setup.mjs";

await main(async () => {
  await ensurePython();
  return runHere(venvProgram("fairlead"), ["demo", ...process.argv.slice(2)], pythonEnvironment());
});
