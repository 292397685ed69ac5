// Makes clones of this checkout that work like ones that were cloned and set up at their place, but in seconds. The
// installed packages are copied; where they name the path of this checkout, they get that of the clone.

import fs from "node:fs";
import path from "node:path";
import { nodeProgram, root, run, venv } from "../process.mjs";
import { SetupError } from "../python.mjs";
import { cacheDir } from "../vscode/packages.mjs";

const PACKAGES = nodeProgram("");

/**
 * Clones this checkout into `folder`, with uncommitted changes, .venv and node_modules. If `account` is given as
 * `{ uid, gid }`, everything belongs to it and can be used by it. Returns the path of the clone.
 */
export async function makeClone(folder, account) {
  const clone = path.join(folder, "fairlead");
  await command("git", ["clone", "--quiet", "--no-local", "--depth", "1", root, clone]);
  await copyChanges(clone);
  await command("cp", ["-a", venv, PACKAGES, clone]);
  relocate(path.join(clone, path.basename(venv)), root, clone);
  if (account !== undefined) {
    await command("chown", ["-R", `${account.uid}:${account.gid}`, folder]);
    await useOwnPython(path.join(clone, path.basename(venv)), folder, account);
  }
  return clone;
}

/** A cache with VS Code and a browser that `account` can read: the user's own or, if it is elsewhere, a copy. */
export async function copyCache(folder, account) {
  if (account === undefined) return cacheDir();
  const copy = path.join(folder, "cache");
  await command("cp", ["-a", cacheDir(), copy]);
  await command("chown", ["-R", `${account.uid}:${account.gid}`, copy]);
  return copy;
}

async function copyChanges(clone) {
  const listed = async (...args) => (await command("git", ["ls-files", "-z", ...args])).split("\0").filter(Boolean);
  for (const name of await listed("--modified", "--others", "--exclude-standard")) {
    const [from, to] = [path.join(root, name), path.join(clone, name)];
    fs.rmSync(to, { force: true });
    if (fs.existsSync(from)) fs.cpSync(from, to, { recursive: true });
  }
}

// The programs of a virtual environment begin with the path of its Python, and some of its files name the checkout.
function relocate(environment, from, to) {
  const bin = path.join(environment, "bin");
  const python = path.join(to, path.basename(environment), "bin", "python");
  // A first line must not contain spaces, so pip writes this program for both sh and Python if the path does.
  const firstLine = /\s/.test(python) ? `#!/bin/sh\n'''exec' "${python}" "$0" "$@"\n' '''\n` : `#!${python}\n`;
  for (const file of fs.readdirSync(bin).map((name) => path.join(bin, name))) {
    if (!fs.lstatSync(file).isFile() || !fs.readFileSync(file).subarray(0, 2).equals(Buffer.from("#!"))) continue;
    edit(file, (text) => text.replace(/^#!(?:\/bin\/sh\n'''exec' .*\n' '''\n|.*python[\d.]*\n)/, () => firstLine));
  }
  const names = fs
    .readdirSync(environment, { recursive: true })
    .filter((name) => /(?:pyvenv\.cfg|fairlead-setup\.json|_fairlead\.pth|direct_url\.json)$/.test(name));
  // each file once, although `lib64` may be a link to `lib`: the new path may contain the old one
  const files = new Set(names.map((name) => fs.realpathSync(path.join(environment, name))));
  for (const file of files) edit(file, (text) => text.replaceAll(from, to));
}

function edit(file, change) {
  const { mode } = fs.statSync(file);
  fs.writeFileSync(file, change(fs.readFileSync(file, "utf8")), { mode });
}

// The account may be unable to run the Python of .venv, for example one in root's home folder. If so, it gets another one
// of the same version, with which the installed packages work too.
async function useOwnPython(environment, folder, account) {
  const bin = path.join(environment, "bin");
  const base = fs.realpathSync(path.join(bin, "python"));
  if ((await run(base, ["-c", ""], { ...account, cwd: folder })).code === 0) return;
  const name = path.basename(base);
  const found = await run(name, ["-c", "import sys; print(sys.executable)"], { ...account, cwd: folder });
  if (found.code !== 0) throw new SetupError(`An ordinary user finds no ${name} on PATH, and cannot run ${base}.`);
  const own = found.output.trim();
  for (const link of fs.readdirSync(bin).map((file) => path.join(bin, file))) {
    if (!fs.lstatSync(link).isSymbolicLink() || fs.readlinkSync(link) !== base) continue;
    fs.rmSync(link);
    fs.symlinkSync(own, link);
  }
  edit(path.join(environment, "pyvenv.cfg"), (text) => text.replaceAll(path.dirname(base), path.dirname(own)));
}

async function command(program, args) {
  const { code, output } = await run(program, args);
  if (code !== 0) throw new SetupError(`${[program, ...args].join(" ")} failed:\n${output}`);
  return output;
}
