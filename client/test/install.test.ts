import assert from "node:assert/strict";
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-install-"));
after(() => {
  fs.rmSync(folder, { recursive: true });
});

// installs into each folder that it receives, and adds an x to FOLDER.built for each build
const INSTALLER = `
import fs from "node:fs";
import { installOnce } from ${JSON.stringify(pathToFileURL(path.resolve("scripts/vscode/packages.mjs")).href)};
process.on("message", async (target) => {
  await installOnce(target, "1", async (staging) => {
    fs.appendFileSync(target + ".built", "x");
    process.send("building");
    if (process.argv[2] === "hangs") await new Promise(() => setInterval(() => {}, 1000));
    fs.writeFileSync(staging + "/program", "whole");
  }, () => {});
  process.send("done");
});
process.send("ready");
`;

const script = path.join(folder, "installer.mjs");
// written only once: a process that starts during another write would read an empty file and never answer
fs.writeFileSync(script, INSTALLER);

async function installer(...args: string[]): Promise<ChildProcess> {
  const child = fork(script, args);
  await once(child, "message");
  return child;
}

function done(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.on("message", (said) => {
      if (said === "done") resolve();
    });
    child.on("exit", reject);
  });
}

test("processes that install at the same time install once, even after one was killed while it installed", async () => {
  const others = await Promise.all(Array.from({ length: 5 }, () => installer()));
  for (const round of Array(6).keys()) {
    const target = path.join(folder, String(round));
    const killed = await installer("hangs");
    killed.send(target);
    await once(killed, "message");
    killed.kill("SIGKILL");
    await once(killed, "exit");
    const all = Promise.all(others.map(done));
    for (const other of others) other.send(target);
    await all;
    assert.equal(fs.readFileSync(`${target}.built`, "utf8"), "xx");
    assert.equal(fs.readFileSync(path.join(target, "program"), "utf8"), "whole");
  }
  for (const other of others) other.kill();
});
