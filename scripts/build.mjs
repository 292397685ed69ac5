// `npm run build`: bundles the extension into dist/extension.js. --production minifies it; --watch builds again after each change.

import path from "node:path";
import { root } from "./process.mjs";
import { ensureNode, main } from "./setup.mjs";

// Prints the lines by which the task in .vscode/tasks.json recognizes the start and the end of a build.
const announceBuilds = {
  name: "announce-builds",
  setup(build) {
    build.onStart(() => console.log("build started"));
    build.onEnd(({ errors }) => console.log(`build ended with ${errors.length} errors`));
  },
};

await main(async () => {
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
    plugins: process.argv.includes("--watch") ? [announceBuilds] : [],
  });
  if (process.argv.includes("--watch")) return bundle.watch();
  await bundle.rebuild();
  await bundle.dispose();
});
