// Finds a Python that can run the server. Uses no VS Code API.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import versions from "../../../scripts/python-versions.json";

export const OLDEST: readonly [number, number] = [3, versions.oldest];
/** The newest Python for which all packages of the server have wheels. */
export const NEWEST: readonly [number, number] = [3, versions.newest];
const PROBE = "import sys; print('%d.%d %s' % (sys.version_info[0], sys.version_info[1], sys.executable))";
const TIME_LIMIT = 10_000;

export interface Python {
  readonly executable: string;
  readonly version: readonly [number, number];
}

/** A command that was tried, and why it is not suitable. For the help page. */
export interface Attempt {
  readonly command: string;
  readonly problem: string;
}

/** The commands to try, best first. */
export function pythonCommands(platform: NodeJS.Platform): readonly (readonly string[])[] {
  const count = versions.newest - versions.oldest + 1;
  const newest = Array.from({ length: count }, (_, index) => `3.${versions.newest - index}`);
  if (platform === "win32") return [...newest.map((version) => ["py", `-${version}`]), ["python"], ["python3"]];
  return [["python3"], ...newest.map((version) => [`python${version}`]), ["python"]];
}

/** How to look for a Python. */
export interface Search {
  /** Whether uv makes the environment. If not, only a Python with the modules `venv` and `ensurepip` is suitable. */
  readonly withUv?: boolean;
  /** Milliseconds that each command may take; by default `TIME_LIMIT`. */
  readonly timeout?: number;
  /** Environment variables in addition to this process's. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The command that runs a Python that uv finds. uv downloads one if it finds none that is suitable. */
export function uvPython(uv: string): readonly string[] {
  const versions = `>=${OLDEST.join(".")},<${NEWEST[0]}.${NEWEST[1] + 1}`;
  return [uv, "run", "--no-project", "--python", versions, "python"];
}

/**
 * Tries the commands in order. Returns the first suitable Python, if there is one, and the attempts that failed. Throws
 * if the signal of `search` is aborted.
 */
export async function findPython(
  commands: Iterable<readonly string[]>,
  search: Search = {},
): Promise<{ python: Python | undefined; attempts: readonly Attempt[] }> {
  const attempts: Attempt[] = [];
  for (const command of commands) {
    const result = await probe(command, search);
    if ("executable" in result) return { python: result, attempts };
    attempts.push(result);
  }
  return { python: undefined, attempts };
}

async function probe(
  [program = "", ...args]: readonly string[],
  { withUv = false, timeout = TIME_LIMIT, variables, signal }: Search,
): Promise<Python | Attempt> {
  const command = [program, ...args].join(" ");
  const script = withUv ? PROBE : `import venv, ensurepip; ${PROBE}`;
  try {
    const { stdout } = await promisify(execFile)(program, [...args, "-I", "-X", "utf8", "-c", script], {
      env: { ...process.env, ...variables },
      timeout,
      signal,
      windowsHide: true,
    });
    const match = /^(\d+)\.(\d+) (.+)$/m.exec(stdout.trim());
    if (!match?.[3]) return { command, problem: "did not report a version" };
    const version = [Number(match[1]), Number(match[2])] as const;
    if (version[0] < OLDEST[0] || (version[0] === OLDEST[0] && version[1] < OLDEST[1])) {
      return { command, problem: `is Python ${version.join(".")}, too old` };
    }
    if (version[0] > NEWEST[0] || (version[0] === NEWEST[0] && version[1] > NEWEST[1])) {
      return { command, problem: `is Python ${version.join(".")}, too new` };
    }
    return { executable: match[3].trim(), version };
  } catch (error) {
    signal?.throwIfAborted();
    return { command, problem: problemOf(error) };
  }
}

function problemOf(error: unknown): string {
  const { code, stderr, killed } = error as { code?: unknown; stderr?: string; killed?: boolean };
  if (code === "ENOENT") return "not found";
  if (killed) return "did not answer";
  // eslint-disable-next-line no-restricted-syntax -- Python writes this
  if (/No module named '?(venv|ensurepip)/.test(stderr ?? ""))
    return "lacks the module venv or ensurepip (on Debian and Ubuntu: install python3-venv)";
  const lines = (stderr ?? "").split("\n").filter((line) => line.trim() !== "");
  return lines.at(-1)?.trim() ?? "could not be run";
}
