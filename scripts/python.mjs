// Finds a Python that can create the virtual environment, or explains how to get one.

import { isWindows, pythonEnvironment, run } from "./process.mjs";

const OLDEST = [3, 11];

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
  const names = ["python3.14", "python3.13", "python3.12", "python3.11", "python3", "python"].map((name) => [name]);
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
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) return `is ${version}: too old`;
  if (!found.venv) return `is ${version}, without its venv module (Debian, Ubuntu: sudo apt install python3-venv)`;
  return undefined;
}

function help(rejected) {
  const setVariable = isWindows
    ? "$env:FAIRLEAD_PYTHON = 'C:\\path\\to\\python.exe'"
    : "export FAIRLEAD_PYTHON=/path/to/python3.13";
  const unsuitable = rejected.map(([command, reason]) => `  ${command} ${reason}`);
  return [
    `Fairlead needs Python ${OLDEST.join(".")} or newer.`,
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
