import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after, test } from "node:test";
import { findPython } from "../src/server/python";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-python-"));
after(() => {
  fs.rmSync(folder, { recursive: true });
});

/** A script in place of an interpreter. It prints what a real one would print. */
function program(name: string, script: string): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

const posix = { skip: process.platform === "win32" };

test("the first suitable Python is used, and the problems of those before it are reported", posix, async () => {
  const old = program("old", "echo '3.9 /usr/bin/python3.9'");
  const young = program("young", "echo '3.15 /usr/bin/python3.15'");
  const bare = program("bare", "echo \"ModuleNotFoundError: No module named 'ensurepip'\" >&2; exit 1");
  const good = program("good", "echo '3.12 /opt/python3.12'");
  const { python, attempts } = await findPython([
    [path.join(folder, "no-such-python")],
    [old],
    [young],
    [bare],
    [good],
    [program("never", "exit 9")],
  ]);
  assert.deepEqual(python, { executable: "/opt/python3.12", version: [3, 12] });
  assert.deepEqual(
    attempts.map(({ problem }) => problem),
    [
      "not found",
      "is Python 3.9, too old",
      "is Python 3.15, too new",
      "lacks the module venv or ensurepip (on Debian and Ubuntu: install python3-venv)",
    ],
  );
});

test("no file from the working directory, which may be the workspace, is run", posix, async () => {
  const before = process.cwd();
  for (const name of ["venv.py", "ensurepip.py"]) fs.writeFileSync(path.join(folder, name), "raise SystemExit(3)\n");
  process.chdir(folder);
  try {
    const { python } = await findPython([["python3"]]);
    assert.ok(python);
  } finally {
    process.chdir(before);
  }
});

test("a failed program is reported with its last line of output or as “could not be run”", posix, async () => {
  const noisy = program("noisy", "printf 'Traceback\\nbroken installation\\n' >&2; exit 1");
  const unrunnable = program("unrunnable", "exit 0");
  fs.chmodSync(unrunnable, 0o644);
  const { attempts } = await findPython([[program("silent", "exit 9")], [unrunnable], [noisy]]);
  assert.deepEqual(
    attempts.map(({ problem }) => problem),
    ["could not be run", "could not be run", "broken installation"],
  );
});

test("without a suitable Python, none is returned", posix, async () => {
  const { python, attempts } = await findPython([[program("two", "echo '2.7 /usr/bin/python2'")]]);
  assert.equal(python, undefined);
  assert.equal(attempts.length, 1);
});
