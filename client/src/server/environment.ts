// The server's own virtual environment: made once for each version, under the extension's global storage.

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import { exclusively } from "./exclusive";

const run = promisify(execFile);
const INSTALL_LIMIT = 10 * 60_000;
/** Milliseconds after which nobody needs an environment of another version; a window that is open uses the one that it started with. */
const UNUSED_AFTER = 30 * 86_400_000;
const UNFINISHED = "unfinished-";
/** A module of what each of the package's extras installs; an extra has the name of the provider that needs it. */
const MODULES: Readonly<Record<string, string>> = { bedrock: "boto3", vertex: "google.auth" };

export function venvPython(folder: string): string {
  return process.platform === "win32" ? path.join(folder, "Scripts", "python.exe") : path.join(folder, "bin", "python");
}

/** Whether the environment is there and starts, with an extra if one is named. */
export async function isEnvironmentReady(folder: string, extra?: string): Promise<boolean> {
  const module = extra === undefined ? undefined : MODULES[extra];
  try {
    await run(venvPython(folder), ["-c", module === undefined ? "import fairlead" : `import fairlead, ${module}`], {
      timeout: 20_000,
      windowsHide: true,
    });
    return true;
  } catch (error) {
    return (error as { killed?: boolean }).killed === true; // too busy to answer in time: it is there, and may be in use
  }
}

/**
 * Makes an environment with the wheel in it, unless another window has made it meanwhile. It is made under another name
 * and moved to its place when it is whole, and only one window at a time makes or changes environments: one that is
 * closed half-way leaves nothing broken, and what it leaves is removed by the next.
 */
export async function makeEnvironment(
  folder: string,
  python: string,
  wheel: string,
  report: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const storage = path.dirname(folder);
  await fs.mkdir(storage, { recursive: true });
  await withLock(folder, python, report, signal, async () => {
    if (await isEnvironmentReady(folder)) return;
    await removeUnused(folder);
    const temporary = path.join(storage, `${UNFINISHED}${randomBytes(4).toString("hex")}`);
    try {
      report("creating a virtual environment");
      await run(python, ["-m", "venv", temporary], { signal, timeout: INSTALL_LIMIT, windowsHide: true });
      report("installing the server's packages");
      await install(temporary, ["-r", requirements(wheel, "server")], signal);
      await install(temporary, ["--no-deps", wheel], signal);
      await fs.rm(folder, { recursive: true, force: true });
      await fs.rename(temporary, folder);
    } finally {
      await fs.rm(temporary, { recursive: true, force: true });
    }
  });
}

/** Adds an extra's packages, where they are not there. A server that runs in the environment finds them when it needs them. */
export async function addExtra(
  folder: string,
  wheel: string,
  extra: string,
  report: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  await withLock(folder, venvPython(folder), report, signal, async () => {
    if (await isEnvironmentReady(folder, extra)) return;
    report(`installing the packages for ${extra}`);
    await install(folder, ["-r", requirements(wheel, extra)], signal);
  });
}

/** Says that an environment is used by a window that starts now; where that cannot be written, nothing is removed either. */
export async function markUsed(folder: string): Promise<void> {
  const now = new Date();
  await fs.utimes(folder, now, now).catch(() => undefined);
}

/** The pinned packages that are packed with the wheel. */
function requirements(wheel: string, name: string): string {
  return path.join(path.dirname(wheel), "requirements", `${name}.txt`);
}

async function install(folder: string, what: readonly string[], signal: AbortSignal): Promise<void> {
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", ...what];
  await run(venvPython(folder), pip, { signal, timeout: INSTALL_LIMIT, windowsHide: true });
}

async function withLock(
  folder: string,
  python: string,
  report: (message: string) => void,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const waiting = (): void => {
    report("waiting for another window that sets the server up");
  };
  await exclusively(path.join(path.dirname(folder), "servers.lock"), python, waiting, signal, work);
}

/** Unfinished environments, and those of other versions that no window has started with for long. */
async function removeUnused(folder: string): Promise<void> {
  const siblings = await fs.readdir(path.dirname(folder), { withFileTypes: true });
  for (const entry of siblings.filter((each) => each.isDirectory())) {
    const other = path.join(path.dirname(folder), entry.name);
    const old =
      entry.name.startsWith("server-") &&
      other !== folder &&
      (await fs.stat(other)).mtimeMs < Date.now() - UNUSED_AFTER;
    if (old || entry.name.startsWith(UNFINISHED)) await fs.rm(other, { recursive: true, force: true });
  }
}
