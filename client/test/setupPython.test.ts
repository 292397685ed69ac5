// How `npm run setup` chooses a Python (scripts/python.mjs).

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { NEWEST, OLDEST } from "../src/server/python";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-setup-python-"));
after(() => {
  fs.rmSync(folder, { recursive: true });
});

const FIND = `
import { findPython } from ${JSON.stringify(pathToFileURL(path.resolve("scripts/python.mjs")).href)};
console.log(await findPython().then(({ version }) => version, (error) => error.message));
`;

/** What the setup says on a machine whose only Python has this version: the version, or why it cannot be used. */
async function chosen(version: readonly number[]): Promise<string> {
  const found = JSON.stringify({ executable: "/opt/python3", version, venv: true });
  fs.writeFileSync(path.join(folder, "python3"), `#!/bin/sh\necho '${found}'\n`, { mode: 0o755 });
  const env = { ...process.env, PATH: folder, FAIRLEAD_PYTHON: "" };
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", FIND], { env });
  return stdout.trim();
}

test(
  "the setup refuses a Python that is too old or too new, and names the versions that work",
  { skip: process.platform === "win32" },
  async () => {
    const needed = `Fairlead needs Python ${OLDEST.join(".")} to ${NEWEST.join(".")}.\n\nFound, but not suitable:\n`;
    for (const [version, problem] of [
      [[NEWEST[0], NEWEST[1] + 1, 0], "new"],
      [[NEWEST[0] + 1, 0, 0], "new"],
      [[OLDEST[0], OLDEST[1] - 1, 9], "old"],
      [[2, 7, 18], "old"],
    ] as const) {
      const message = await chosen(version);
      assert.ok(message.startsWith(`${needed}  python3 is ${version.join(".")}: too ${problem}\n`), message);
    }
    for (const [major, minor] of [OLDEST, NEWEST]) assert.equal(await chosen([major, minor, 1]), `${major}.${minor}.1`);
  },
);
