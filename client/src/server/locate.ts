// Finds the Python that runs the server: in development, the one in the project's environment; otherwise, the one in an
// environment that the extension creates.

import * as fs from "node:fs";
import * as path from "node:path";
import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { withProgress } from "../ui/show";
import {
  addExtra,
  environmentName,
  isEnvironmentReady,
  makeEnvironment,
  markUsed,
  NotInstalled,
  type Packages,
} from "./environment";
import { findUv, pip, uvInstaller, venvPython } from "./installers";
import { findPython, pythonCommands, uvPython, NEWEST, OLDEST, type Attempt, type Python } from "./python";
import { configuredExtra, configuredProxy, configuredPython, configuredWheels } from "./settings";

/** How long the Python extension may take to answer, in milliseconds. */
const PYTHON_EXTENSION_LIMIT = 3000;
/** How long uv may take to find a Python, in milliseconds. It may have to download one first. */
const PYTHON_OF_UV_LIMIT = 5 * 60_000;

export class NoPython extends Error {
  constructor(readonly attempts: readonly Attempt[]) {
    super(`No Python ${OLDEST.join(".")} to ${NEWEST.join(".")} was found.`);
  }
}

/**
 * Returns the Python executable of the server's environment. If the environment is missing or does not work, creates it
 * and shows the progress. Also installs the packages of the configured endpoint if they are missing. In a checkout, returns the
 * executable in `.venv` without checking anything.
 *
 * Throws NoPython if there is no suitable Python, and NotInstalled if its packages cannot be installed. Does not throw if only the
 * endpoint's packages cannot be installed.
 */
export async function serverPython(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): Promise<string> {
  const wheel = bundledWheel(context.extensionPath);
  if (wheel === undefined) return venvPython(path.join(context.extensionPath, ".venv"));
  const folder = await environmentFolder(context, wheel);
  if (!(await isEnvironmentReady(folder, configuredExtra()))) {
    if (!(await isEnvironmentReady(folder))) await setUp(folder, wheel, log);
    await ensureExtra(context, log);
  }
  await markUsed(folder);
  return venvPython(folder);
}

/**
 * Whether the server's environment seems to exist. It may still have to be created again if it does not work, and the
 * packages of an endpoint may be missing.
 */
export async function isInstalled(context: vscode.ExtensionContext): Promise<boolean> {
  const wheel = bundledWheel(context.extensionPath);
  const isCheckout = wheel === undefined;
  const folder = isCheckout ? path.join(context.extensionPath, ".venv") : await environmentFolder(context, wheel);
  return fs.existsSync(venvPython(folder));
}

/** The installations of extras in this window that have not ended yet. Others in this window wait for them silently. */
const installing = new Map<string, Promise<boolean>>();

/**
 * Installs the Python packages of an extra if they are missing, by default those that the configured endpoint needs.
 * Returns whether they are there. Never throws: if the installation fails or the user cancels it, the server still
 * starts, and the first task reports what to install manually.
 */
export async function ensureExtra(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
  extra = configuredExtra(),
): Promise<boolean> {
  const wheel = bundledWheel(context.extensionPath);
  if (wheel === undefined || extra === undefined) return true;
  const work = installing.get(extra) ?? installExtra(context, log, wheel, extra);
  installing.set(extra, work);
  try {
    return await work;
  } finally {
    installing.delete(extra);
  }
}

async function installExtra(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
  wheel: string,
  extra: string,
): Promise<boolean> {
  try {
    const folder = await environmentFolder(context, wheel);
    if (await isEnvironmentReady(folder, extra)) return true;
    await setUpWithProgress("Fairlead", log, async (report, signal) =>
      addExtra(folder, packages(wheel, await findUv()), extra, report, signal),
    );
    return true;
  } catch (error) {
    const why = error instanceof NotInstalled ? error.output : String(error);
    log.warn(`The packages for ${extra} could not be installed: ${why}`);
    return false;
  }
}

/** The path of the file that lists the server's packages. */
export function requirementsOf(context: vscode.ExtensionContext): string {
  return path.join(context.extensionPath, "dist", "requirements", "server.txt");
}

async function environmentFolder(context: vscode.ExtensionContext, wheel: string): Promise<string> {
  const { version } = context.extension.packageJSON as { version: string };
  return path.join(context.globalStorageUri.fsPath, await environmentName(version, wheel, configuredPython()));
}

async function setUp(folder: string, wheel: string, log: vscode.LogOutputChannel): Promise<void> {
  const [extensionPython, uv] = await Promise.all([interpreterOfPythonExtension(log), findUv()]);
  const { python, attempts } = await findPython(candidates(extensionPython), { withUv: uv !== undefined });
  for (const attempt of attempts) log.info(`Python: ${attempt.command} ${attempt.problem}`);
  if (python) log.info(`Python ${python.version.join(".")} at ${python.executable}`);
  await setUpWithProgress(t("Fairlead: setting up"), log, async (report, signal) => {
    const executable = (python ?? (await pythonOfUv(uv, attempts, report, signal))).executable;
    await makeEnvironment(folder, executable, packages(wheel, uv), report, signal);
  });
}

/**
 * Returns a Python that uv finds or downloads. Throws NoPython, with all attempts, if there is no uv, if uv gets no
 * Python, or if the user has configured an interpreter, which uv must not replace. `attempts` are the earlier ones.
 */
async function pythonOfUv(
  uv: string | undefined,
  attempts: readonly Attempt[],
  report: (message: string) => void,
  signal: AbortSignal,
): Promise<Python> {
  if (uv === undefined || configuredPython() !== undefined) throw new NoPython(attempts);
  report(t("getting Python with uv"));
  const search = { withUv: true, timeout: PYTHON_OF_UV_LIMIT, variables: configuredProxy(), signal };
  const found = await findPython([uvPython(uv)], search);
  if (!found.python) throw new NoPython([...attempts, ...found.attempts]);
  return found.python;
}

/**
 * Returns where the packages come from: the folder in the setting `wheels`, else the wheels in the extension, else the
 * network. A .vsix for one platform contains the wheels, next to the server's own.
 */
function packages(wheel: string, uv: string | undefined): Packages {
  const bundled = path.join(path.dirname(wheel), "wheels");
  return {
    wheel,
    wheels: configuredWheels() ?? (fs.existsSync(bundled) ? bundled : undefined),
    installers: uv === undefined ? [pip] : [uvInstaller(uv), pip],
    variables: configuredProxy(),
  };
}

async function setUpWithProgress(
  title: string,
  log: vscode.LogOutputChannel,
  work: (report: (message: string) => void, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  await withProgress({ title, cancellable: true }, async (report, token) => {
    const abort = new AbortController();
    token.onCancellationRequested(() => {
      abort.abort();
    });
    const logAndReport = (message: string): void => {
      log.info(message);
      report(message);
    };
    await work(logAndReport, abort.signal);
  });
}

function* candidates(extensionPython: string | undefined): Iterable<readonly string[]> {
  const chosen = configuredPython();
  // a configured interpreter is never silently replaced by another one
  if (chosen !== undefined) {
    yield [chosen];
    return;
  }
  if (extensionPython !== undefined) yield [extensionPython];
  yield* pythonCommands(process.platform);
}

function bundledWheel(extensionPath: string): string | undefined {
  const folder = path.join(extensionPath, "dist");
  const name = fs.existsSync(folder) ? fs.readdirSync(folder).find((entry) => entry.endsWith(".whl")) : undefined;
  return name === undefined ? undefined : path.join(folder, name);
}

interface PythonExtension {
  readonly environments?: { getActiveEnvironmentPath(): { readonly path?: string } };
}

/** Returns the Python extension's active interpreter; undefined if the extension is missing, fails or is too slow. */
async function interpreterOfPythonExtension(log: vscode.LogOutputChannel): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>("ms-python.python");
  if (!extension) return undefined;
  const late = new Promise<undefined>((resolve) => {
    setTimeout(() => {
      resolve(undefined);
    }, PYTHON_EXTENSION_LIMIT);
  });
  try {
    const api = await Promise.race<PythonExtension | undefined>([Promise.resolve(extension.activate()), late]);
    return api?.environments?.getActiveEnvironmentPath().path;
  } catch (error) {
    log.info(`the Python extension did not answer: ${String(error)}`);
    return undefined;
  }
}
