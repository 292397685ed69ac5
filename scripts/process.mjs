// Finds and runs other programs.

import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { constants } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
export const isWindows = process.platform === "win32";
export const venv = path.join(root, ".venv");

/** The path of a program in .venv. */
export function venvProgram(name) {
  return isWindows ? path.join(venv, "Scripts", `${name}.exe`) : path.join(venv, "bin", name);
}

/** The path of a file in an npm package. Run it with node: the shims in .bin differ between systems. */
export function nodeProgram(file) {
  return path.join(root, "node_modules", ...file.split("/"));
}

/** Whether the module with this URL is the script that Node was started with. */
export function isMain(url) {
  return process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(url);
}

/**
 * The environment for a Python that must find only its own packages: `base` and `added`, without the variables that
 * would make it use others, such as PYTHONPATH.
 */
export function pythonEnvironment(added = {}, base = process.env) {
  const env = { ...base, ...added };
  for (const name of ["PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__"]) delete env[name];
  return env;
}

/**
 * Runs a program, as another user if root gives `uid` and `gid`, and returns `{ code, output }`. The output contains
 * standard output and standard error. If `signal` (an AbortSignal) is aborted, the program gets SIGTERM. If SIGTERM or the like ended the program, the code is 128 plus
 * that signal's number. Never rejects: if the program cannot be started, the code is -1 and the output says why.
 */
export function run(command, args, { env = process.env, shell = false, cwd = root, uid, gid, signal } = {}) {
  return new Promise((resolve) => {
    const chunks = [];
    const child = spawn(command, args, { cwd, env, shell, uid, gid, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.stderr.on("data", (chunk) => chunks.push(chunk));
    const terminate = () => child.kill("SIGTERM");
    signal?.addEventListener("abort", terminate);
    const end = (code, killedBy) => {
      signal?.removeEventListener("abort", terminate);
      resolve({ code: code ?? exitCodeOf(killedBy), output: Buffer.concat(chunks).toString("utf8") });
    };
    child.on("error", (error) => resolve({ code: -1, output: error.message }));
    child.on("close", end);
    // A process that the program left running may keep the pipes open, so `close` may never come: it is awaited for at
    // most 2 s.
    child.on("exit", (code, killedBy) => setTimeout(end, 2_000, code, killedBy).unref());
  });
}

/**
 * Runs a program in this terminal and returns its exit code, or 128 plus the number of the signal that ended it. On
 * Ctrl+C, which the program gets too, waits for it to end. Passes SIGTERM on. Rejects if the program cannot be started.
 */
export function runInTerminal(command, args, env = process.env, { shell = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, shell, stdio: "inherit" });
    const listeners = { SIGINT: () => {}, SIGTERM: () => child.kill("SIGTERM") };
    for (const [name, listener] of Object.entries(listeners)) process.on(name, listener);
    const end = (settle, value) => {
      for (const [name, listener] of Object.entries(listeners)) process.off(name, listener);
      settle(value);
    };
    child.on("error", (error) => end(reject, error));
    child.on("close", (code, signal) => end(resolve, code ?? exitCodeOf(signal)));
  });
}

function exitCodeOf(signal) {
  return 128 + (constants.signals[signal] ?? 0);
}
