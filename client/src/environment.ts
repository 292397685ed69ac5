// The server's own virtual environment: made once for each version, under the extension's global storage.

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const INSTALL_LIMIT = 10 * 60_000;
/** A module of what each of the package's extras installs; an extra has the name of the provider that needs it. */
const MODULES: Readonly<Record<string, string>> = { bedrock: "boto3", vertex: "google.auth" };

export function venvPython(folder: string): string {
  return process.platform === "win32" ? path.join(folder, "Scripts", "python.exe") : path.join(folder, "bin", "python");
}

/** Whether the environment is there and starts, with an extra if one is named. */
export async function readyEnvironment(folder: string, extra?: string): Promise<boolean> {
  const module = extra === undefined ? undefined : MODULES[extra];
  try {
    await run(venvPython(folder), ["-c", module === undefined ? "import fairlead" : `import fairlead, ${module}`], { timeout: 20_000, windowsHide: true });
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
    await install(temporary, wheel, signal);
    await replace(temporary, folder);
  } finally {
    await fs.rm(temporary, { recursive: true, force: true });
  }
}

/** Adds an extra's packages. A server that runs in the environment finds them when it needs them. */
export async function addExtra(
  folder: string,
  wheel: string,
  extra: string,
  report: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  report(`installing the packages for ${extra}`);
  await install(folder, `${wheel}[${extra}]`, signal);
}

async function install(folder: string, what: string, signal: AbortSignal): Promise<void> {
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", what];
  await run(venvPython(folder), pip, { signal, timeout: INSTALL_LIMIT, windowsHide: true });
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
