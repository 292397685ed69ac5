import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { makeEnvironment } from "../src/server/environment";
import { pip, uvInstaller, venvPython, type Installer } from "../src/server/installers";

const ROOT = process.cwd();
const windows = process.platform === "win32";
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-offline-"));
const wheels = path.join(folder, "wheels");
const python = venvPython(path.join(ROOT, ".venv"));
let wheel = "";
let uv = "";

interface Scripts {
  TARGETS: readonly string[];
  downloadWheels: (target: string, folder: string, pythons: readonly string[]) => Promise<void>;
  ensureWheels: (name: string) => Promise<void>;
  wheelsDir: (name: string) => string;
}

async function scripts(name: string): Promise<Scripts> {
  return (await import(pathToFileURL(path.join(ROOT, "scripts", name)).href)) as Scripts;
}

const target = `${process.platform}-${process.arch}`;

before(async () => {
  const { ensureWheels, wheelsDir } = await scripts("wheels.mjs");
  await ensureWheels("lock");
  uv = path.join(wheelsDir("lock"), "bin", windows ? "uv.exe" : "uv");
  const version = execFileSync(python, ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"], {
    encoding: "utf8",
  }).trim();
  await (await scripts("platform-wheels.mjs")).downloadWheels(target, wheels, [version]);
  const dist = path.join(folder, "dist");
  const options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", dist];
  execFileSync(python, ["-m", "pip", "wheel", "--disable-pip-version-check", ...options, ROOT]);
  wheel = path.join(dist, fs.readdirSync(dist)[0] ?? "");
  fs.cpSync(path.join(ROOT, "requirements"), path.join(dist, "requirements"), { recursive: true });
  // from here on, requests to the network fail
  for (const name of ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"])
    process.env[name] = "http://127.0.0.1:9";
  process.env.UV_CACHE_DIR = path.join(folder, "uv-cache");
  process.env.PIP_COMPILE = "0"; // the packages are run once, so compiling them costs more than it saves
});
after(() => {
  fs.rmSync(folder, { recursive: true });
});

/** Makes an environment and runs its server. Returns the progress messages. */
async function makeAndRun(name: string, installers: readonly Installer[]): Promise<readonly string[]> {
  const messages: string[] = [];
  const environment = path.join(folder, name);
  const packages = { wheel, wheels, installers };
  await makeEnvironment(
    environment,
    python,
    packages,
    (message) => messages.push(message),
    new AbortController().signal,
  );
  const { version } = JSON.parse(fs.readFileSync(path.join(ROOT, "package.json"), "utf8")) as { version: string };
  const printed = execFileSync(venvPython(environment), ["-I", "-m", "fairlead", "--version"], { encoding: "utf8" });
  assert.match(printed, new RegExp(version.replaceAll(".", "\\.")));
  return messages;
}

test("uv makes the environment from a folder of wheels, without a network", async () => {
  assert.deepEqual(await makeAndRun("with-uv", [uvInstaller(uv), pip]), [
    "creating a virtual environment",
    "installing the server's packages with uv",
  ]);
  const programs = fs.readdirSync(path.dirname(venvPython(path.join(folder, "with-uv"))));
  assert.ok(!programs.some((name) => name.startsWith("pip")), "pip was not needed");
});

test("pip makes the environment if uv fails, even if pip is configured to install for the user", async () => {
  process.env.PIP_USER = "1";
  const messages = await makeAndRun("with-pip", [uvInstaller(path.join(folder, "no-uv")), pip]);
  assert.match(messages.join("\n"), /uv failed: .*ENOENT[^]*with pip$/);
});
