import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after, test } from "node:test";
import { addExtra, readyEnvironment, venvPython } from "../src/environment";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-environment-"));
const asked = path.join(folder, "asked");
after(() => {
  fs.rmSync(folder, { recursive: true });
});

/** An environment whose Python only writes down what it is asked, and has no module of these names. */
function environment(missing: string): string {
  const python = venvPython(folder);
  fs.mkdirSync(path.dirname(python), { recursive: true });
  fs.writeFileSync(python, `#!/bin/sh\necho "$@" >> '${asked}'\ncase "$*" in *${missing}*) exit 1;; esac\n`, { mode: 0o755 });
  return folder;
}

const posix = { skip: process.platform === "win32" };

test("an environment without the packages of the chosen cloud is ready for the server, not for the cloud", posix, async () => {
  const made = environment("boto3");
  assert.equal(await readyEnvironment(made), true);
  assert.equal(await readyEnvironment(made, "bedrock"), false);
  assert.equal(await readyEnvironment(made, "vertex"), true);
});

test("an extra is installed from the same wheel", posix, async () => {
  const said: string[] = [];
  await addExtra(environment("nothing"), "/x/fairlead.whl", "vertex", (message) => said.push(message), new AbortController().signal);
  assert.match(fs.readFileSync(asked, "utf8"), /-m pip install .* \/x\/fairlead\.whl\[vertex\]\n$/);
  assert.deepEqual(said, ["installing the packages for vertex"]);
});
