// The scripts that run VS Code for the tests of the extension and for `npm start` (scripts/vscode).

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { startBrowser } from "../../scripts/vscode/browser.mjs";
import { ROOT } from "./agent.mjs";
import { test } from "./host/registry.mjs";
import { temporaryFile } from "./host/temporary.mjs";

const script = (name) => path.join(ROOT, "scripts", "vscode", name);

/** Starts a browser with these environment variables, calls `use` with it and stops it. */
async function withBrowser(variables, use) {
  const before = { ...process.env };
  Object.assign(process.env, variables);
  let started;
  try {
    started = await startBrowser();
    await use(started.browser);
  } finally {
    await started?.stop();
    for (const name of Object.keys(variables)) {
      delete process.env[name];
      if (before[name] !== undefined) process.env[name] = before[name];
    }
  }
}

test("the log of a server that cannot be started is not lost", () => {
  const scratch = path.dirname(temporaryFile("server"));
  const command = [script("keeper.mjs"), "mark", scratch, path.join(scratch, "missing")];
  const { stdout } = spawnSync(process.execPath, command, { encoding: "utf8" });
  const { left, log } = JSON.parse(stdout);
  assert.deepEqual(left, []);
  assert.match(log, /ENOENT/);
  assert.ok(!fs.existsSync(scratch));
});

test("if a browser does not start, the error contains the last lines that it wrote, and its exit code", async () => {
  const program = temporaryFile("browser");
  const lines = [
    "#!/bin/sh",
    "exec >&2",
    "for n in 1 2 3 4 5 6 7 8 9; do echo noise $n; done",
    "echo the reason",
    "exit 3",
  ];
  fs.writeFileSync(program, `${lines.join("\n")}\n`, { mode: 0o755 });
  const started = withBrowser({ FAIRLEAD_BROWSER: program }, () => {});
  await assert.rejects(started, ({ message }) => message.includes("the reason") && message.includes("exitCode=3"));
});

test("the browser reaches no other machine, not even through a proxy", async () => {
  const asked = [];
  const proxy = http.createServer((request, response) => {
    asked.push(request.url);
    response.end();
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const address = `http://127.0.0.1:${proxy.address().port}`;
  try {
    await withBrowser({ http_proxy: address, HTTP_PROXY: address }, async (browser) => {
      const page = await browser.newPage();
      await assert.rejects(page.goto("http://example.com/"), /ERR_NAME_NOT_RESOLVED/);
    });
  } finally {
    proxy.close();
  }
  assert.deepEqual(asked, []);
});

test("lines of a log have the local time and the level as VS Code's own logger writes them", () => {
  const file = temporaryFile("a.log");
  const program = `
    import { createRotatingLogger } from ${JSON.stringify(pathToFileURL(script("spdlog.mjs")))};
    (await createRotatingLogger("a", ${JSON.stringify(file)})).warn("careful");
  `;
  const began = Date.now();
  const env = { ...process.env, TZ: "Asia/Kolkata" };
  execFileSync(process.execPath, ["--input-type=module", "--eval", program], { env });
  const [, time, level] = /^(\S+ \S+) \[(\w+)\] careful\n$/.exec(fs.readFileSync(file, "utf8"));
  const written = Date.parse(`${time.replace(" ", "T")}+05:30`);
  assert.equal(level, "warning");
  assert.ok(began <= written && written <= Date.now(), time);
});
