// The programs that make a virtual environment and install packages into it: uv where the user has it, because it is much faster, and pip.

import { execFile } from "node:child_process";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const PROBE_LIMIT = 10_000;

/** A program and its arguments. */
export type Command = readonly [string, ...string[]];

export interface Installer {
  readonly name: string;
  /** The command that makes an empty environment in a folder. */
  environmentCommand(folder: string, python: string): Command;
  /** The command that installs packages into an environment, without the arguments that name the packages. */
  installCommand(folder: string): Command;
}

export const pip: Installer = {
  name: "pip",
  environmentCommand: (folder, python) => [python, "-m", "venv", folder],
  installCommand: (folder) => {
    return [venvPython(folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"];
  },
};

export function uvInstaller(program: string): Installer {
  return {
    name: "uv",
    environmentCommand: (folder, python) => [program, "venv", "--quiet", "--no-project", "--python", python, folder],
    // compiled now, because otherwise the server would compile at each start if it may not write there
    installCommand: (folder) => {
      return [program, "pip", "install", "--quiet", "--compile-bytecode", "--python", venvPython(folder)];
    },
  };
}

/** The uv program, if there is one: the one on the PATH, else the one at the place where uv's installer puts it. */
export async function findUv(): Promise<string | undefined> {
  const home = os.homedir();
  for (const program of ["uv", path.join(home, ".local", "bin", "uv"), path.join(home, ".cargo", "bin", "uv")]) {
    try {
      await run(program, ["--version"], { timeout: PROBE_LIMIT, windowsHide: true });
      return program;
    } catch {
      // not there
    }
  }
  return undefined;
}

export function venvPython(folder: string): string {
  return process.platform === "win32" ? path.join(folder, "Scripts", "python.exe") : path.join(folder, "bin", "python");
}
