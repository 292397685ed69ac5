// `npm run format`: everything that a tool can put right by itself.

import { nodeProgram, runHere, venvProgram } from "./process.mjs";
import { ensureNode, ensurePython, main, together } from "./setup.mjs";

await main(async () => {
  await together(ensurePython({ extras: ["dev"] }), ensureNode());
  const codes = [
    await runHere(venvProgram("ruff"), ["check", "--fix"]),
    await runHere(venvProgram("ruff"), ["format"]),
    await runHere(process.execPath, [nodeProgram("eslint/bin/eslint.js"), "--fix"]),
  ];
  return Math.max(...codes);
});
