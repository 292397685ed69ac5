// The server's virtual environment in the extension's global storage: created once for each build of the server and each
// configured Python.

import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import { t } from "@vscode/l10n";
import { exclusively } from "./exclusive";
import { venvPython, type Command, type Installer } from "./installers";

const run = promisify(execFile);
/** How long each command of an installer may run, in milliseconds. */
const INSTALL_LIMIT = 10 * 60_000;
/**
 * How long an environment of another build or another Python stays after a server was last started from it, in
 * milliseconds. A window that is still open may use it.
 */
const UNUSED_AFTER = 30 * 86_400_000;
const UNFINISHED = "unfinished-";
/** For each extra of the package, a module that it installs. */
const MODULES: Readonly<Record<string, string>> = {
  bedrock: "boto3",
  vertex: "google.auth",
  openai: "openai",
  mcp: "mcp",
};

/** What pip and uv say if they reach no index of packages. */
const NO_NETWORK =
  // eslint-disable-next-line no-restricted-syntax -- pip and uv write this
  /name resolution|not known|getaddrinfo|dns error|unreachable|connection refused|timed out|NewConnectionError|ProxyError|error sending request/i;

/** No installer could install the server's packages. */
export class NotInstalled extends Error {
  /** Whether that is because there is no connection to the index of packages. */
  readonly isOffline: boolean;

  /** `output`: what the installers said. */
  constructor(readonly output: string) {
    const isOffline = NO_NETWORK.test(output);
    super(
      isOffline
        ? t("The packages of Fairlead's server could not be downloaded: no network.")
        : t("The packages of Fairlead's server could not be installed."),
    );
    this.isOffline = isOffline;
  }
}

/** Where the packages come from, and which programs install them. */
export interface Packages {
  /** The path of the server's own wheel. The folder `requirements` next to it lists the other packages. */
  readonly wheel: string;
  /** A folder with the wheels of the other packages. If it is given, the network is not used. */
  readonly wheels?: string | undefined;
  /** Tried in this order. uv does not read pip's configuration, so pip may succeed where uv does not. */
  readonly installers: readonly Installer[];
  /** The installers' environment variables in addition to this process's. */
  readonly variables?: Readonly<Record<string, string>>;
}

/**
 * Returns the name of the folder for an environment: the version, and a hash of what is installed and of the configured
 * Python. Two builds of a version, or two Pythons, therefore never share an environment.
 */
export async function environmentName(version: string, wheel: string, python = ""): Promise<string> {
  const hash = createHash("sha256").update(`${python}\0`);
  for (const file of [requirementsFile(wheel, "server"), wheel]) hash.update(await fs.readFile(file));
  return `server-${version}-${hash.digest("hex").slice(0, 8)}`;
}

/**
 * Whether the environment exists and works, with the packages of an extra if one is given. Also true if the answer
 * takes longer than 20 seconds.
 */
export async function isEnvironmentReady(folder: string, extra?: string): Promise<boolean> {
  const module = extra === undefined ? undefined : MODULES[extra];
  try {
    const imports = module === undefined ? "import fairlead" : `import fairlead, ${module}`;
    await run(venvPython(folder), ["-I", "-c", imports], { timeout: 20_000, windowsHide: true });
    return true;
  } catch (error) {
    // a timeout on a busy machine: the environment exists and may be in use
    return (error as { killed?: boolean }).killed === true;
  }
}

/**
 * Creates an environment with the wheel, unless another window has created it meanwhile. Only one window at a time
 * creates or changes environments. The environment gets its final name when it is complete. If a window closes before
 * that, the next window that creates an environment removes the unfinished one.
 *
 * Throws NotInstalled if all installers fail. If `signal` is aborted, throws another error without trying the others.
 */
export async function makeEnvironment(
  folder: string,
  python: string,
  packages: Packages,
  report: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const storage = path.dirname(folder);
  await fs.mkdir(storage, { recursive: true });
  await withLock(folder, python, report, signal, async () => {
    if (await isEnvironmentReady(folder)) return;
    await removeUnused(folder);
    await firstThatWorks(packages.installers, report, signal, async (installer) => {
      const temporary = path.join(storage, `${UNFINISHED}${randomBytes(4).toString("hex")}`);
      try {
        report(t("creating a virtual environment"));
        await runInstaller(installer.environmentCommand(temporary, python), packages, signal);
        report(t("installing the server's packages with {0}", installer.name));
        const install = installer.installCommand(temporary);
        await runInstaller([...install, ...packageArguments(packages, "server")], packages, signal);
        await runInstaller([...install, "--no-deps", packages.wheel], packages, signal);
        await fs.rm(folder, { recursive: true, force: true });
        await fs.rename(temporary, folder);
      } finally {
        await fs.rm(temporary, { recursive: true, force: true });
      }
    });
  });
}

/**
 * Installs an extra's packages if they are missing. A running server finds them when it needs them. Throws as
 * `makeEnvironment` does.
 */
export async function addExtra(
  folder: string,
  packages: Packages,
  extra: string,
  report: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  await withLock(folder, venvPython(folder), report, signal, async () => {
    if (await isEnvironmentReady(folder, extra)) return;
    await firstThatWorks(packages.installers, report, signal, async (installer) => {
      report(t("installing the packages for {0}", extra));
      const command: Command = [...installer.installCommand(folder), ...packageArguments(packages, extra)];
      await runInstaller(command, packages, signal);
    });
  });
}

/** Marks an environment as used now. Ignores a failure: without write access, `removeUnused` fails too. */
export async function markUsed(folder: string): Promise<void> {
  const now = new Date();
  await fs.utimes(folder, now, now).catch(() => undefined);
}

/** Returns an installer's arguments for the pinned packages in `requirements/NAME.txt`, and for the wheels' folder. */
function packageArguments({ wheel, wheels }: Packages, name: string): string[] {
  const offline = wheels === undefined ? [] : ["--no-index", "--find-links", wheels];
  return [...offline, "-r", requirementsFile(wheel, name)];
}

function requirementsFile(wheel: string, name: string): string {
  return path.join(path.dirname(wheel), "requirements", `${name}.txt`);
}

async function runInstaller([program, ...args]: Command, packages: Packages, signal: AbortSignal): Promise<void> {
  const env = { ...process.env, ...packages.variables };
  await run(program, args, { env, signal, timeout: INSTALL_LIMIT, windowsHide: true });
}

async function firstThatWorks(
  installers: readonly Installer[],
  report: (message: string) => void,
  signal: AbortSignal,
  work: (installer: Installer) => Promise<void>,
): Promise<void> {
  const outputs: string[] = [];
  for (const installer of installers) {
    try {
      await work(installer);
      return;
    } catch (error) {
      if (signal.aborted) throw error;
      const output = (error instanceof Error ? error.message : String(error)).trim();
      outputs.push(output);
      report(t("{0} failed: {1}", installer.name, output.split("\n").at(-1) ?? ""));
    }
  }
  throw new NotInstalled(outputs.join("\n\n"));
}

async function withLock(
  folder: string,
  python: string,
  report: (message: string) => void,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const onWait = (): void => {
    report(t("waiting for another window that is setting up the server"));
  };
  await exclusively(path.join(path.dirname(folder), "servers.lock"), python, onWait, signal, work);
}

/** Removes unfinished environments, and others that have not been used for `UNUSED_AFTER`. Requires the lock. */
async function removeUnused(folder: string): Promise<void> {
  const siblings = await fs.readdir(path.dirname(folder), { withFileTypes: true });
  for (const entry of siblings.filter((each) => each.isDirectory())) {
    const other = path.join(path.dirname(folder), entry.name);
    const isUnused =
      entry.name.startsWith("server-") &&
      other !== folder &&
      (await fs.stat(other)).mtimeMs < Date.now() - UNUSED_AFTER;
    if (isUnused || entry.name.startsWith(UNFINISHED)) await fs.rm(other, { recursive: true, force: true });
  }
}
