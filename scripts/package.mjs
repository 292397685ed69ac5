// `npm run package`: builds the extension with its server as a .vsix in .build/.
// `npm run package -- --target linux-x64`: the same for one platform, with the Python packages that the server needs,
// so that its installation needs no network.
//
// The .vsix is assembled in a separate folder, because an extension that finds a wheel in dist/ assumes that it is
// installed, and makes its own Python environment. Without a wheel, it uses the .venv of this checkout.

import fs from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { downloadWheels, TARGETS } from "./platform-wheels.mjs";
import { nodeProgram, root, venvProgram } from "./process.mjs";
import { say, withProgress } from "./progress.mjs";
import { SetupError } from "./python.mjs";
import { ensureNode, ensurePython, main, runOrThrow, waitForAll } from "./setup.mjs";

const staging = path.join(root, ".build", "vsix");
const FILES = ["LICENSE", "client/media", "l10n", "package.nls.json", "package.nls.zh-cn.json"];
const BUNDLES = ["extension.js", "conversation.js", "conversation-code.js", "conversation-style.css"];
/** The tabs of the extension page, and where their texts come from. */
const PAGES = { "README.md": "docs/vscode.md", "CHANGELOG.md": "CHANGELOG.md" };
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
/** The web address of the repository, which only a release knows. */
const repository = GITHUB_REPOSITORY === undefined ? undefined : `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`;

await main(async () => {
  const { target } = parseArgs({ options: { target: { type: "string" } } }).values;
  if (target !== undefined && !TARGETS.includes(target))
    throw new SetupError(
      `There is no package for ${target}. Choose one of ${TARGETS.join(", ")}, or leave --target out.`,
    );
  await waitForAll(ensurePython(), ensureNode());
  fs.rmSync(staging, { recursive: true, force: true });
  const bundles = path.join(root, ".build", "bundles");
  await withProgress("bundle the extension", () =>
    runOrThrow(process.execPath, [path.join(root, "scripts/build.mjs"), "--production", "--outdir", bundles]),
  );
  for (const file of BUNDLES) copy(`.build/bundles/${file}`, `dist/${file}`);
  for (const file of FILES) copy(file);
  copy("server/fairlead/example", "example");
  for (const [page, source] of Object.entries(PAGES)) fs.writeFileSync(path.join(staging, page), standalone(source));
  fs.writeFileSync(path.join(staging, "package.json"), JSON.stringify(manifest(), null, 2));
  for (const name of ["server", "bedrock", "vertex", "openai", "mcp"])
    copy(`requirements/${name}.txt`, `dist/requirements/${name}.txt`);
  const options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", path.join(staging, "dist")];
  const wheel = ["-m", "pip", "wheel", ...options, root];
  await withProgress("build the server's wheel", () => runOrThrow(venvProgram("python"), wheel));
  if (target !== undefined)
    await withProgress(`download the packages for ${target}`, () =>
      downloadWheels(target, path.join(staging, "dist", "wheels")),
    );
  const { name, version } = manifest();
  const vsix = path.join(root, ".build", `${[name, target, version].filter(Boolean).join("-")}.vsix`);
  const vsce = [
    nodeProgram("@vscode/vsce/vsce"),
    "package",
    "--no-dependencies",
    "--no-rewrite-relative-links",
    "--allow-missing-repository",
    ...(target === undefined ? [] : ["--target", target]),
    "--out",
    vsix,
  ];
  await withProgress("package", () => runOrThrow(process.execPath, vsce, { cwd: staging }));
  say(
    `${path.relative(root, vsix)}, ${(fs.statSync(vsix).size / 1000).toFixed(0)} kB. Install it with: code --install-extension ${path.relative(root, vsix)}`,
  );
  return 0;
});

function copy(from, to = from) {
  fs.cpSync(path.join(root, from), path.join(staging, to), { recursive: true });
}

/**
 * The text of a Markdown file for the extension page, where only web addresses work: relative links lead to the
 * repository. If its address is not known, relative pictures are left out and relative links become plain text.
 */
function standalone(file) {
  const text = fs.readFileSync(path.join(root, file), "utf8");
  if (repository === undefined)
    return text.replace(/!\[[^\]]*\]\([^):]*\)\n\n/g, "").replace(/\[([^\]]*)\]\([^):]*\)/g, "$1");
  const target = (link) => path.posix.join(path.posix.dirname(file), link);
  return text.replace(
    /(!?)\[([^\]]*)\]\(([^):#][^):]*)\)/g,
    (_, picture, words, link) =>
      `${picture}[${words}](${repository}/${picture ? "raw" : "blob"}/v${manifest().version}/${target(link)})`,
  );
}

/** The manifest without the parts that only a checkout uses, and with the address of the repository if it is known. */
function manifest() {
  const {
    scripts: _scripts,
    devDependencies: _dev,
    private: _private,
    ...rest
  } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));
  const address = repository === undefined ? {} : { repository: { type: "git", url: `${repository}.git` } };
  return { ...rest, ...address, engines: { vscode: rest.engines.vscode } };
}
