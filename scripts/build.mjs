// `npm run build`: the extension as one file, dist/extension.js. With --production minified.

import path from "node:path";
import { exists, root } from "./process.mjs";
import { SetupError } from "./python.mjs";
import { ensureNode, main } from "./setup.mjs";

await main(async () => {
  if (!exists("client", "src", "extension.ts")) throw new SetupError("There is no client/src/extension.ts yet.");
  await ensureNode();
  const { build } = await import("esbuild");
  await build({
    entryPoints: [path.join(root, "client/src/extension.ts")],
    outfile: path.join(root, "dist/extension.js"),
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
    sourcemap: true,
    minify: process.argv.includes("--production"),
  });
});
