// Packages from npm, checked and unpacked into the user's cache. No package script runs. npm itself downloads the
// packages, so the user's configuration of npm applies (mirror, proxy, certificates).
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { venvProgram } from "../process.mjs";

/** The folder of everything that the scripts install outside of the checkout; it can be deleted at any time. */
export function cacheDir() {
  const home = os.homedir();
  // the tests run with another home folder, so `npm test` passes on where the user's cache is
  if (process.env.FAIRLEAD_TEST_CACHE) return process.env.FAIRLEAD_TEST_CACHE;
  const base =
    process.env.XDG_CACHE_HOME ||
    (process.platform === "darwin" && path.join(home, "Library", "Caches")) ||
    (process.platform === "win32" && (process.env.LOCALAPPDATA || path.join(home, "AppData", "Local"))) ||
    path.join(home, ".cache");
  return path.join(base, "fairlead");
}

/**
 * Ensures that `dir` contains the result of `build(staging)` for this `recipe`, a string that names the versions of all
 * parts.
 * The folder is built elsewhere and then renamed, so it is never incomplete. One process at a time installs; the others
 * wait, and say so with `log`. Needs .venv and node_modules.
 */
export async function installOnce(dir, recipe, build, log) {
  const installed = () => read(path.join(dir, ".recipe")) === recipe;
  if (installed()) return;
  fs.mkdirSync(path.dirname(dir), { recursive: true });
  const exclusively = await clientLock();
  const waiting = () => log("waiting for another process, which is installing the same packages");
  await exclusively(`${dir}.lock`, venvProgram("python"), waiting, new AbortController().signal, async () => {
    if (installed()) return;
    const staging = `${dir}.partial`;
    fs.rmSync(staging, { recursive: true, force: true });
    try {
      fs.mkdirSync(staging);
      await build(staging);
      fs.writeFileSync(path.join(staging, ".recipe"), recipe);
      fs.rmSync(dir, { recursive: true, force: true });
      fs.renameSync(staging, dir);
    } finally {
      fs.rmSync(staging, { recursive: true, force: true });
    }
  });
}

/**
 * The lock that the extension uses when it sets up its server. The system releases it when the process that holds it
 * ends.
 */
async function clientLock() {
  const { transform } = await import("esbuild");
  const source = fs.readFileSync(new URL("../../client/src/server/exclusive.ts", import.meta.url), "utf8");
  const { code } = await transform(source, { loader: "ts", format: "esm" });
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)).exclusively;
}

/**
 * Downloads a package, checks its SHA-512, and unpacks it into `into`. The SHA-512 must equal `integrity` or, if that
 * is not given, the integrity in the registry.
 */
export async function fetchPackage({ name, version, integrity }, into) {
  const spec = `${name}@${version}`;
  const download = `${into}.tgz`;
  fs.mkdirSync(download, { recursive: true });
  let expected = integrity;
  try {
    expected ??= (await npm(["view", spec, "dist.integrity"])).trim();
    await npm(["pack", spec, "--loglevel=error", "--prefer-offline", "--ignore-scripts"], download);
  } catch (error) {
    throw new Error(`${spec} could not be fetched.\n${error.message}`, { cause: error });
  }
  const tarball = path.join(
    download,
    fs.readdirSync(download).find((file) => file.endsWith(".tgz")),
  );
  const actual = await sha512(tarball);
  if (actual !== expected) {
    throw new Error(
      `${spec} is not the package that these scripts were written for, so nothing was installed. ` +
        `Its digest is ${actual} instead of ${expected}.`,
    );
  }
  await untar(tarball, into, ["--strip-components=1"]);
  fs.rmSync(download, { recursive: true });
}

async function sha512(file) {
  const hash = createHash("sha512");
  for await (const chunk of fs.createReadStream(file)) hash.update(chunk);
  return `sha512-${hash.digest("base64")}`;
}

/** Unpacks an archive into a folder, which is created if necessary. */
export async function untar(archive, into, options = []) {
  fs.mkdirSync(into, { recursive: true });
  // Git for Windows puts a GNU tar first on PATH, which reads the C: of a path as a host name.
  const tar = process.platform === "win32" ? path.join(process.env.SystemRoot, "System32", "tar.exe") : "tar";
  await run(tar, ["-xf", archive, "-C", into, "--no-same-owner", ...options]);
}

/** Runs npm with the user's configuration, not that of this checkout. Like `run`, returns its standard output. */
export function npm(args, cwd = os.tmpdir()) {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !/^npm_(package|lifecycle|command|config_local_prefix)/i.test(key)),
  );
  if (process.env.npm_execpath?.endsWith(".js"))
    return run(process.execPath, [process.env.npm_execpath, ...args], { cwd, env });
  // On Windows, npm is a .cmd file, which only a shell can start. No argument here contains a space.
  return run("npm", args, { cwd, env, shell: process.platform === "win32" });
}

/** Runs a command and returns its standard output. If the command fails, throws an error with the end of its output. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    let err = "";
    child.stdout.on("data", (data) => {
      out += data;
    });
    child.stderr.on("data", (data) => {
      err += data;
    });
    child.on("error", (error) => reject(new Error(`${command} could not be started: ${error.message}`)));
    child.on("close", (code) => {
      if (code === 0) resolve(out);
      else
        reject(new Error(`${[command, ...args].join(" ")} ended with ${code}:\n${(err || out).trim().slice(-1500)}`));
    });
  });
}

function read(file) {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
