// `npm run build`: bundles the extension and its page into dist/.
//
//   --production  minifies them    --watch  builds again after each change    --outdir DIR  instead of dist/

import path from "node:path";
import { parseArgs } from "node:util";
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

// The extension, and the page of the conversation with its style sheet and what it loads later.
const bundles = [
  {
    entryPoints: { extension: path.join(root, "client/src/extension.ts") },
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
  },
  {
    entryPoints: {
      conversation: path.join(root, "client/src/features/conversation/webview/main.ts"),
      "conversation-code": path.join(root, "client/src/features/conversation/webview/highlighter.ts"),
      "conversation-style": path.join(root, "client/src/features/conversation/webview/conversation.css"),
    },
    platform: "browser",
    format: "iife",
    target: "chrome124",
  },
];

await main(async () => {
  const { production, watch, outdir } = parseArgs({
    options: {
      production: { type: "boolean", default: false },
      watch: { type: "boolean", default: false },
      outdir: { type: "string", default: path.join(root, "dist") },
    },
  }).values;
  await ensureNode();
  const { context } = await import("esbuild");
  for (const [index, bundle] of bundles.entries()) {
    const build = await context({
      ...bundle,
      outdir,
      bundle: true,
      sourcemap: true,
      minify: production,
      plugins: watch && index === 0 ? [announceBuilds] : [],
    });
    if (watch) await build.watch();
    else {
      await build.rebuild();
      await build.dispose();
    }
  }
});
