// The programs that make a virtual environment and install packages into it: uv, which is much faster but may be
// missing, and pip.

import { execFile } from "node:child_process";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
/** How long `uv --version` may take, in milliseconds. */
const PROBE_LIMIT = 10_000;

/** A program and its arguments. */
export type Command = readonly [string, ...string[]];

export interface Installer {
  readonly name: string;
  /** The command that makes an environment in a folder. `python` is the executable to make it from. */
  environmentCommand(folder: string, python: string): Command;
  /** The command that installs packages into an environment, without the arguments that name the packages. */
  installCommand(folder: string): Command;
}

export const pip: Installer = {
  name: "pip",
  // -I: otherwise a venv.py or pip.py in the working directory, which may be the workspace, would run instead
  environmentCommand: (folder, python) => [python, "-I", "-m", "venv", folder],
  installCommand: (folder) => {
    // --no-user: pip's configuration may say to install into the user's own folder, which fails in an environment
    const options = ["--quiet", "--no-user", "--disable-pip-version-check", "--no-input"];
    return [venvPython(folder), "-I", "-m", "pip", "install", ...options];
  },
};

export function uvInstaller(program: string): Installer {
  return {
    name: "uv",
    environmentCommand: (folder, python) => [program, "venv", "--quiet", "--no-project", "--python", python, folder],
    // --compile-bytecode: a server that may not write into the environment would compile the packages at each start
    installCommand: (folder) => {
      return [program, "pip", "install", "--quiet", "--compile-bytecode", "--python", venvPython(folder)];
    },
  };
}

/** Returns `uv` if it is on the PATH, else its path in a usual installation folder; undefined if none of them runs. */
export async function findUv(): Promise<string | undefined> {
  const home = os.homedir();
  for (const program of ["uv", path.join(home, ".local", "bin", "uv"), path.join(home, ".cargo", "bin", "uv")]) {
    try {
      await run(program, ["--version"], { timeout: PROBE_LIMIT, windowsHide: true });
      return program;
    } catch {
      // try the next one
    }
  }
  return undefined;
}

export function venvPython(folder: string): string {
  return process.platform === "win32" ? path.join(folder, "Scripts", "python.exe") : path.join(folder, "bin", "python");
}
