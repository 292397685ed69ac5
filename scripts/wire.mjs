// `npm run wire`: generates the client's types and the tables of docs/protocol.md from the shapes of the wire.

import { pythonEnvironment, runInTerminal, venvProgram } from "./process.mjs";
import { ensurePython, main } from "./setup.mjs";

await main(async () => {
  await ensurePython({ dev: true });
  return runInTerminal(venvProgram("python"), ["scripts/wire.py"], pythonEnvironment());
});
