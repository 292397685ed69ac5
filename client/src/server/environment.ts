// The server's virtual environment: created once per version in the extension's global storage.

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import { exclusively } from "./exclusive";

const run = promisify(execFile);
const INSTALL_LIMIT = 10 * 60_000;
/** Milliseconds without use after which the environment of another version is removed. Open windows may still use it before. */
const UNUSED_AFTER = 30 * 86_400_000;
const UNFINISHED = "unfinished-";
/** For each extra of the package, a module that it installs. An extra has the name of the provider that needs it. */
const MODULES: Readonly<Record<string, string>> = { bedrock: "boto3", vertex: "google.auth" };

export function venvPython(folder: string): string {
  return process.platform === "win32" ? path.join(folder, "Scripts", "python.exe") : path.join(folder, "bin", "python");
}

/** Whether the environment exists and works, with an extra if one is given. */
export async function isEnvironmentReady(folder: string, extra?: string): Promise<boolean> {
  const module = extra === undefined ? undefined : MODULES[extra];
  try {
    await run(venvPython(folder), ["-c", module === undefined ? "import fairlead" : `import fairlead, ${module}`], {
      timeout: 20_000,
      windowsHide: true,
    });
    return true;
  } catch (error) {
    return (error as { killed?: boolean }).killed === true; // a timeout on a busy machine: it exists and may be in use
  }
}

/**
 * Creates an environment with the wheel, unless another window has created it meanwhile. Only one window at a time creates or changes
 * environments. The environment gets its final name when it is complete, so a window that closes too early leaves nothing broken.
 * The next one removes what it left.
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

/** Installs an extra's packages if they are missing. A running server finds them when it needs them. */
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

/** Marks an environment as used now. If that fails, the environment cannot be removed either. */
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
    report("waiting for another window that is setting up the server");
  };
  await exclusively(path.join(path.dirname(folder), "servers.lock"), python, waiting, signal, work);
}

/** Removes unfinished environments, and those of other versions that have not been used for a long time. */
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
