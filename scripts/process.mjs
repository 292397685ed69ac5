// Running other programs: where they are, and what came out of them.

import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { constants } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
export const windows = process.platform === "win32";
export const venv = path.join(root, ".venv");

/** The path of a program in the virtual environment. */
export function venvProgram(name) {
  return windows ? path.join(venv, "Scripts", `${name}.exe`) : path.join(venv, "bin", name);
}

/** The path of a file in an npm package, run with node itself: the shims differ per system. */
export function nodeProgram(file) {
  return path.join(root, "node_modules", ...file.split("/"));
}

export function exists(...parts) {
  return existsSync(path.join(root, ...parts));
}

export function isMain(url) {
  return process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(url);
}

/** An environment in which a Python finds only its own packages. */
export function pythonEnvironment(more = {}, base = process.env) {
  const env = { ...base, ...more };
  for (const name of ["PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__"]) delete env[name];
  return env;
}

/**
 * Runs a program to its end and gathers both its outputs in the order they came.
 * Never rejects: a program that cannot be started has the code -1 and the reason as its output.
 */
export function run(command, args, { env = process.env, shell = false, cwd = root } = {}) {
  return new Promise((resolve) => {
    const chunks = [];
    const child = spawn(command, args, { cwd, env, shell, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.stderr.on("data", (chunk) => chunks.push(chunk));
    child.on("error", (error) => resolve({ code: -1, output: error.message }));
    const end = (code, signal) => {
      resolve({ code: code ?? exitCodeOf(signal), output: Buffer.concat(chunks).toString("utf8") });
    };
    child.on("close", end);
    // What the program left running may hold the pipes open for ever.
    child.on("exit", (code, signal) => setTimeout(end, 2_000, code, signal).unref());
  });
}

/** Runs a program on this terminal and returns its exit code; Ctrl+C is the program's to handle. */
export function runHere(command, args, env = process.env, { shell = false } = {}) {
  return new Promise((resolve, reject) => {
    const leaveToChild = () => {};
    process.on("SIGINT", leaveToChild);
    const child = spawn(command, args, { env, shell, stdio: "inherit" });
    process.once("SIGTERM", () => child.kill("SIGTERM"));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      process.off("SIGINT", leaveToChild);
      resolve(code ?? exitCodeOf(signal));
    });
  });
}

function exitCodeOf(signal) {
  return 128 + (constants.signals[signal] ?? 0);
}
