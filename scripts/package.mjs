// `npm run package`: the extension as a .vsix that brings its own server, in .build/.
//
// It is put together in a folder of its own: an extension that finds a wheel beside it is an installed one and makes its
// own Python environment, one that finds none runs from this checkout's .venv.

import fs from "node:fs";
import path from "node:path";
import { nodeProgram, root, run, venvProgram } from "./process.mjs";
import { during, say } from "./progress.mjs";
import { SetupError } from "./python.mjs";
import { ensureNode, ensurePython, main, together } from "./setup.mjs";

const staging = path.join(root, ".build", "vsix");
const FILES = ["README.md", "CHANGELOG.md", "LICENSE", "client/media"];

await main(async () => {
  await together(ensurePython(), ensureNode());
  fs.rmSync(staging, { recursive: true, force: true });
  fs.mkdirSync(path.join(staging, "dist"), { recursive: true });
  await during("bundle the extension", () =>
    checked(process.execPath, [path.join(root, "scripts/build.mjs"), "--production"]),
  );
  fs.copyFileSync(path.join(root, "dist/extension.js"), path.join(staging, "dist/extension.js"));
  for (const file of FILES) fs.cpSync(path.join(root, file), path.join(staging, file), { recursive: true });
  fs.writeFileSync(path.join(staging, "package.json"), JSON.stringify(manifest(), null, 2));
  const wheel = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", path.join(staging, "dist"), root];
  await during("build the server's wheel", () => checked(venvProgram("python"), wheel));
  const { name, version } = manifest();
  const vsix = path.join(root, ".build", `${name}-${version}.vsix`);
  const vsce = [
    nodeProgram("@vscode/vsce/vsce"),
    "package",
    "--no-dependencies",
    "--no-rewrite-relative-links",
    "--allow-missing-repository",
    "--out",
    vsix,
  ];
  await during("package", () => checked(process.execPath, vsce, staging));
  say(
    `${path.relative(root, vsix)}, ${(fs.statSync(vsix).size / 1000).toFixed(0)} kB. Install it with: code --install-extension ${path.relative(root, vsix)}`,
  );
  return 0;
});

/** The manifest without what only this checkout needs. */
function manifest() {
  const {
    scripts: _scripts,
    devDependencies: _dev,
    private: _private,
    ...rest
  } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));
  return { ...rest, engines: { vscode: rest.engines.vscode } };
}

async function checked(command, args, cwd = root) {
  const { code, output } = await run(command, args, { cwd });
  if (code !== 0) throw new SetupError(output);
}
