// `npm run format`: formats the code and applies safe fixes.

import { nodeProgram, runInTerminal, venvProgram } from "./process.mjs";
import { ensureNode, ensurePython, main, waitForAll } from "./setup.mjs";

await main(async () => {
  await waitForAll(ensurePython({ dev: true }), ensureNode());
  const codes = [
    await runInTerminal(venvProgram("ruff"), ["check", "--fix"]),
    await runInTerminal(venvProgram("ruff"), ["format"]),
    await runInTerminal(process.execPath, [nodeProgram("eslint/bin/eslint.js"), "--fix"]),
    await runInTerminal(process.execPath, [
      nodeProgram("prettier/bin/prettier.cjs"),
      "--write",
      "--log-level=warn",
      ".",
    ]),
  ];
  return Math.max(...codes);
});
