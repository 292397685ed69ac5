// Finds a Python that can create the virtual environment, or explains how to get one.

import { readFileSync } from "node:fs";
import { isWindows, pythonEnvironment, run } from "./process.mjs";

// The minor versions of Python 3, also for client/src/server/python.ts. tree-sitter has no wheel for 3.15 yet.
const { oldest, newest } = JSON.parse(readFileSync(new URL("python-versions.json", import.meta.url), "utf8"));
/** The supported versions, newest first. */
export const PYTHONS = Array.from({ length: newest - oldest + 1 }, (_, index) => `3.${newest - index}`);

// For the Python of a virtual environment, the probe returns the Python that created the environment, because .venv
// itself may be deleted and created again.
const PROBE = `
import importlib.util, json, sys
found = getattr(sys, "_base_executable", None) or sys.executable
has_pip = False
try:
    import ensurepip, venv
    has_pip = True
except ImportError:
    pass
print(json.dumps({"executable": found, "version": list(sys.version_info[:3]), "venv": has_pip}))
`;

/** A problem that the user can solve. The message says how. */
export class SetupError extends Error {}

/**
 * Returns the first suitable Python as `{ executable, version }`. Throws a `SetupError` if there is none.
 * A Python that FAIRLEAD_PYTHON names is used or refused, never replaced by another.
 */
export async function findPython() {
  const rejected = [];
  for (const [command, ...args] of candidates()) {
    const found = await probe(command, args);
    const reason = objection(found);
    if (reason === undefined) return { executable: found.executable, version: found.version.join(".") };
    if (found !== undefined || process.env.FAIRLEAD_PYTHON) rejected.push([[command, ...args].join(" "), reason]);
  }
  throw new SetupError(help(rejected));
}

function candidates() {
  if (process.env.FAIRLEAD_PYTHON) return [[process.env.FAIRLEAD_PYTHON]];
  const names = [...PYTHONS.map((version) => `python${version}`), "python3", "python"].map((name) => [name]);
  return isWindows ? [...names, ["py", "-3"]] : names;
}

async function probe(command, args) {
  const { code, output } = await run(command, [...args, "-c", PROBE], { env: pythonEnvironment() });
  if (code !== 0) return undefined;
  try {
    return JSON.parse(output.trim().split("\n").at(-1));
  } catch {
    return undefined;
  }
}

/** Why a Python cannot be used; undefined if it can. */
function objection(found) {
  if (found === undefined) return "does not run as a Python 3";
  const [major, minor] = found.version;
  const version = found.version.join(".");
  if (major < 3 || (major === 3 && minor < oldest)) return `is ${version}: too old`;
  if (major > 3 || minor > newest) return `is ${version}: too new`;
  if (!found.venv) return `is ${version}, without its venv module (Debian, Ubuntu: sudo apt install python3-venv)`;
  return undefined;
}

function help(rejected) {
  const setVariable = isWindows
    ? "$env:FAIRLEAD_PYTHON = 'C:\\path\\to\\python.exe'"
    : "export FAIRLEAD_PYTHON=/path/to/python3.13";
  const unsuitable = rejected.map(([command, reason]) => `  ${command} ${reason}`);
  return [
    `Fairlead needs Python 3.${oldest} to 3.${newest}.`,
    ...(unsuitable.length > 0 ? ["", "Found, but not suitable:", ...unsuitable] : ["", "No Python is on the PATH."]),
    "",
    "Install one:",
    "  Debian, Ubuntu   sudo apt install python3 python3-venv",
    "  Fedora           sudo dnf install python3",
    "  macOS            brew install python",
    "  Windows          winget install Python.Python.3.13",
    "",
    "Or name an installed one, and run the same command again:",
    `  ${setVariable}`,
  ].join("\n");
}
