// The server's own virtual environment: made once for each version, under the extension's global storage.

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const INSTALL_LIMIT = 10 * 60_000;

export function venvPython(folder: string): string {
  return process.platform === "win32" ? path.join(folder, "Scripts", "python.exe") : path.join(folder, "bin", "python");
}

/** The environment's folder if it is there and starts. */
export async function readyEnvironment(folder: string): Promise<boolean> {
  try {
    await run(venvPython(folder), ["-c", "import fairlead"], { timeout: 20_000, windowsHide: true });
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes an environment with the wheel in it, beside its place, and moves it there when it is whole: a window that is
 * closed half-way, or a second window that does the same, leaves nothing broken.
 */
export async function makeEnvironment(
  folder: string,
  python: string,
  wheel: string,
  report: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const temporary = `${folder}.${randomBytes(4).toString("hex")}`;
  await fs.mkdir(path.dirname(folder), { recursive: true });
  try {
    report("creating a virtual environment");
    await run(python, ["-m", "venv", temporary], { signal, timeout: INSTALL_LIMIT, windowsHide: true });
    report("installing the server's packages");
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", wheel];
    await run(venvPython(temporary), pip, { signal, timeout: INSTALL_LIMIT, windowsHide: true });
    await replace(temporary, folder);
  } finally {
    await fs.rm(temporary, { recursive: true, force: true });
  }
}

async function replace(temporary: string, folder: string): Promise<void> {
  if (await readyEnvironment(folder)) return; // another window was quicker
  await fs.rm(folder, { recursive: true, force: true });
  await fs.rename(temporary, folder);
}

/** The environments of other versions, which nobody needs any more. */
export async function removeOthers(folder: string): Promise<void> {
  const siblings = await fs.readdir(path.dirname(folder), { withFileTypes: true });
  const old = siblings.filter((entry) => entry.isDirectory() && /^server-[\w.]+$/.test(entry.name) && entry.name !== path.basename(folder));
  await Promise.all(old.map((entry) => fs.rm(path.join(path.dirname(folder), entry.name), { recursive: true, force: true })));
}
