import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after, test } from "node:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  addExtra,
  environmentName,
  makeEnvironment,
  isEnvironmentReady,
  NotInstalled,
  type Packages,
} from "../src/server/environment";
import { exclusively } from "../src/server/exclusive";
import { pip, venvPython } from "../src/server/installers";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-environment-"));
const asked = path.join(folder, "asked");
after(() => {
  fs.rmSync(folder, { recursive: true });
});

/** Creates an environment whose Python records its arguments, fails if they name `missing`, and can hold locks. */
function environment(missing: string): string {
  const python = venvPython(folder);
  fs.mkdirSync(path.dirname(python), { recursive: true });
  fs.writeFileSync(python, `#!/bin/sh\n${HOLDS}\necho "$@" >> '${asked}'\ncase "$*" in *${missing}*) exit 1;; esac\n`, {
    mode: 0o755,
  });
  return folder;
}

// runs the lock script of exclusive.ts with a real Python
const HOLDS = 'case "$3" in *fcntl*) exec python3 "$@";; esac';
const packages = (wheel: string): Packages => ({ wheel, installers: [pip] });
const never = new AbortController().signal;
const silent = (): void => undefined;

const posix = { skip: process.platform === "win32" };

test(
  "an environment without the packages of the configured cloud is ready for the server, but not for the cloud",
  posix,
  async () => {
    const made = environment("boto3");
    assert.equal(await isEnvironmentReady(made), true);
    assert.equal(await isEnvironmentReady(made, "bedrock"), false);
    assert.equal(await isEnvironmentReady(made, "vertex"), true);
  },
);

test("the packages of a cloud are installed from the requirements next to the wheel", posix, async () => {
  const said: string[] = [];
  await addExtra(
    environment("google"),
    packages("/x/fairlead.whl"),
    "vertex",
    (message) => said.push(message),
    new AbortController().signal,
  );
  assert.match(fs.readFileSync(asked, "utf8"), /-m pip install .* -r \/x\/requirements\/vertex\.txt\n$/);
  assert.deepEqual(said, ["installing the packages for vertex"]);
});

test("the installers get the proxy", posix, async () => {
  const made = environment("google");
  fs.appendFileSync(venvPython(made), `case "$*" in *install*) echo "$https_proxy" >> '${asked}';; esac\n`);
  const variables = { https_proxy: "http://proxy.corp:8080" };
  await addExtra(made, { ...packages("/x/fairlead.whl"), variables }, "vertex", silent, never);
  assert.match(fs.readFileSync(asked, "utf8"), /vertex\.txt\nhttp:\/\/proxy\.corp:8080\n$/);
});

test("another build of the same version, other packages and another Python get environments of their own", async () => {
  const wheel = path.join(folder, "fairlead-1.2.3-py3-none-any.whl");
  const requirements = path.join(folder, "requirements", "server.txt");
  fs.mkdirSync(path.dirname(requirements));
  const build = (code: string, pins: string, python?: string): Promise<string> => {
    fs.writeFileSync(wheel, code);
    fs.writeFileSync(requirements, pins);
    return environmentName("1.2.3", wheel, python);
  };
  const names = [
    await build("code", "pygls==2"),
    await build("new code", "pygls==2"),
    await build("code", "pygls==3"),
    await build("code", "pygls==2", "/opt/python3.13"),
  ];
  assert.equal(new Set(names).size, 4, names.join());
  for (const name of names) assert.match(name, /^server-1\.2\.3-[0-9a-f]{8}$/);
  assert.equal(await build("code", "pygls==2"), names[0]);
});

/**
 * Creates a Python that can make environments. The Python of such an environment takes a while to install packages, and
 * fails until they are installed.
 */
function maker(storage: string): string {
  const python = path.join(storage, "python3");
  const made = `#!/bin/sh\n${HOLDS}\ncase "$*" in *"-r "*) exit;; *pip*) echo x >> '${storage}/installed'; sleep 0.2; touch "$(dirname "$0")/whole";; esac\ntest -e "$(dirname "$0")/whole"\n`;
  fs.writeFileSync(path.join(storage, "made"), made);
  fs.writeFileSync(
    python,
    `#!/bin/sh\n${HOLDS}\nmkdir -p "$4/bin" && cp '${storage}/made' "$4/bin/python" && chmod +x "$4/bin/python"\n`,
    { mode: 0o755 },
  );
  return python;
}

test(
  "docs/faults.md 57: windows that set up the server at the same time create one environment, and all use it",
  posix,
  async () => {
    const storage = fs.mkdtempSync(path.join(folder, "storage-"));
    const target = path.join(storage, "server-1.2.3");
    const said: string[] = [];
    await Promise.all(
      Array.from({ length: 6 }, () =>
        makeEnvironment(target, maker(storage), packages("/x.whl"), (message) => said.push(message), never),
      ),
    );
    assert.equal(fs.readFileSync(path.join(storage, "installed"), "utf8"), "x\n");
    assert.equal(await isEnvironmentReady(target), true);
    assert.ok(said.includes("waiting for another window that is setting up the server"));
  },
);

test(
  "if no installer works, the error says in one sentence why, and has all that the installers said",
  posix,
  async () => {
    const storage = fs.mkdtempSync(path.join(folder, "storage-"));
    const python = path.join(storage, "python3");
    const fail = async (said: string): Promise<NotInstalled> => {
      fs.writeFileSync(python, `#!/bin/sh\n${HOLDS}\necho "${said}" >&2\nexit 1\n`, { mode: 0o755 });
      const reports: string[] = [];
      const both = { wheel: "/x.whl", installers: [pip, pip] };
      const failed = makeEnvironment(path.join(storage, "server-1"), python, both, (text) => reports.push(text), never);
      const error = await failed.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof NotInstalled);
      assert.equal(error.output.split(said).length, 3, "what both said");
      assert.equal(reports.filter((text) => text === `pip failed: ${said}`).length, 2);
      return error;
    };
    const offline = await fail("NewConnectionError: [Errno -2] Name or service not known");
    assert.equal(offline.message, "The packages of Fairlead's server could not be downloaded: no network.");
    const full = await fail("No space left on device");
    assert.equal(full.message, "The packages of Fairlead's server could not be installed.");
  },
);

test(
  "docs/faults.md 57: unfinished and long unused environments are removed, those that were used recently are not",
  posix,
  async () => {
    const storage = fs.mkdtempSync(path.join(folder, "storage-"));
    for (const name of ["unfinished-1", "server-1.0.0", "server-1.1.0", "other"])
      fs.mkdirSync(path.join(storage, name));
    const long = new Date(Date.now() - 31 * 86_400_000);
    fs.utimesSync(path.join(storage, "server-1.0.0"), long, long);
    fs.utimesSync(path.join(storage, "other"), long, long);
    await makeEnvironment(path.join(storage, "server-1.2.3"), maker(storage), packages("/x.whl"), silent, never);
    const left = fs.readdirSync(storage, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    assert.deepEqual(left.map((entry) => entry.name).sort(), ["other", "server-1.1.0", "server-1.2.3"]);
  },
);

test("docs/faults.md 57: the lock of a killed process is released at once", posix, async () => {
  const file = path.join(folder, "some.lock");
  const holder = spawn("python3", [
    "-c",
    "import fcntl, sys, time; f = open(sys.argv[1], 'a'); fcntl.flock(f, fcntl.LOCK_EX); print('in', flush=True); time.sleep(60)",
    file,
  ]);
  await once(holder.stdout, "data");
  let waited = false;
  await exclusively(
    file,
    "python3",
    () => {
      waited = holder.kill("SIGKILL");
    },
    never,
    () => Promise.resolve(),
  );
  assert.ok(waited);
  await assert.rejects(
    exclusively(path.join(folder, "none", "x.lock"), "python3", silent, never, () => Promise.resolve()),
    /cannot be locked: \[Errno 2\] No such file/,
  );
});

/** A Python for which the file system of the file in its last argument has no locks. */
function lockless(): string {
  const python = path.join(folder, "lockless");
  const prelude = [
    "import errno, fcntl, os, sys",
    "locks = fcntl.flock",
    "def flock(file, how):",
    "    if os.path.samestat(os.fstat(file.fileno()), os.stat(sys.argv[1])):",
    "        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))",
    "    locks(file, how)",
    "fcntl.flock = flock",
    "exec(sys.argv.pop(1))",
  ].join("\n");
  fs.writeFileSync(python, `#!/bin/sh\nexec python3 -I -c '${prelude}' "$3" "$4"\n`, { mode: 0o755 });
  return python;
}

test("docs/faults.md 57: on a file system without locks, the windows of this machine take turns", posix, async () => {
  const { TMPDIR } = process.env;
  process.env.TMPDIR = folder;
  const file = path.join(folder, "lockless.lock");
  const order: string[] = [];
  let second: Promise<unknown> = Promise.resolve();
  try {
    await exclusively(file, lockless(), silent, never, async () => {
      await new Promise<void>((resolve) => {
        second = exclusively(file, lockless(), resolve, never, () => Promise.resolve(order.push("second")));
      });
      order.push("first");
    });
    await second;
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  }
  assert.deepEqual(order, ["first", "second"]);
});
