// `npm run format`: formats the code and applies safe fixes.

import { nodeProgram, runHere, venvProgram } from "./process.mjs";
import { ensureNode, ensurePython, main, together } from "./setup.mjs";

await main(async () => {
  await together(ensurePython({ dev: true }), ensureNode());
  const codes = [
    await runHere(venvProgram("ruff"), ["check", "--fix"]),
    await runHere(venvProgram("ruff"), ["format"]),
    await runHere(process.execPath, [nodeProgram("eslint/bin/eslint.js"), "--fix"]),
    await runHere(process.execPath, [nodeProgram("prettier/bin/prettier.cjs"), "--write", "--log-level=warn", "."]),
  ];
  return Math.max(...codes);
});
