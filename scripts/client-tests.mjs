// Runs the client's unit tests, client/test/**/*.test.ts. They are bundled first, because Node 20 does not read
// TypeScript.

import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { root, runInTerminal } from "./process.mjs";

const source = path.join(root, "client", "test");
const out = path.join(root, ".build", "client-test");

const tests = readdirSync(source, { recursive: true }).filter((file) => file.endsWith(".test.ts"));
rmSync(out, { recursive: true, force: true });
await build({
  entryPoints: tests.map((file) => path.join(source, file)),
  outdir: out,
  outbase: source,
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  // jsdom and typescript read files of their own packages
  external: ["vscode", "jsdom", "typescript"],
  sourcemap: "inline",
});
const built = tests.map((file) => path.join(out, file.replace(/\.ts$/, ".js")));
process.exitCode = await runInTerminal(process.execPath, [
  "--enable-source-maps",
  "--test",
  "--test-reporter=tap",
  ...built,
]);
