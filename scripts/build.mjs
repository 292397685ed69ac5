// `npm run build`: bundles the extension into dist/extension.js. --production minifies it; --watch builds again after each change.

import path from "node:path";
import { exists, root } from "./process.mjs";
import { SetupError } from "./python.mjs";
import { ensureNode, main } from "./setup.mjs";

// Begin and end of each build, by which the task in .vscode/tasks.json recognizes them.
const announced = {
  name: "announced",
  setup(build) {
    build.onStart(() => console.log("build started"));
    build.onEnd(({ errors }) => console.log(`build ended with ${errors.length} errors`));
  },
};

await main(async () => {
  if (!exists("client", "src", "extension.ts")) throw new SetupError("There is no client/src/extension.ts yet.");
  await ensureNode();
  const { context } = await import("esbuild");
  const bundle = await context({
    entryPoints: [path.join(root, "client/src/extension.ts")],
    outfile: path.join(root, "dist/extension.js"),
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
    sourcemap: true,
    minify: process.argv.includes("--production"),
    plugins: process.argv.includes("--watch") ? [announced] : [],
  });
  if (process.argv.includes("--watch")) return bundle.watch();
  await bundle.rebuild();
  await bundle.dispose();
});
