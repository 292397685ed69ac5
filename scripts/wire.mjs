// `npm run wire`: generates the client's types, tables of the documentation and a JSON Schema from the shapes of the wire.

import { pythonEnvironment, runInTerminal, venvProgram } from "./process.mjs";
import { ensurePython, main } from "./setup.mjs";

await main(async () => {
  await ensurePython({ dev: true });
  return runInTerminal(venvProgram("python"), ["scripts/wire.py"], pythonEnvironment());
});
