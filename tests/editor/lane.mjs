// One of the processes that run the test files. It takes one file after another until none is left. Its files share a
// browser and, if their settings are the same, a window (shared.mjs), because starting a window takes longer than most
// tests.

import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { endOnSignal } from "../../scripts/vscode/ending.mjs";
import { closeBrowser } from "./host/page.mjs";
import { declared } from "./host/registry.mjs";
import { closeShared, taint } from "./shared.mjs";

const OPTIONS = { timeout: 5 * 60_000 };
const queue = process.env.FAIRLEAD_EDITOR_QUEUE;
const fromTheEnd = number() % 2 === 1;
const wanted = new RegExp(process.env.FAIRLEAD_EDITOR_GREP ?? "", "i");

endOnSignal();
for (let file = next(); file; file = next()) {
  await test(path.basename(file), async (context) => {
    await import(pathToFileURL(file));
    const { tests, ends } = declared();
    for (const { title, body } of tests) if (wanted.test(title)) await context.test(title, OPTIONS, tainting(body));
    for (const end of ends) await end();
  });
}
await test("the shared window closes and leaves no process", OPTIONS, closeShared);
await closeBrowser();

/** Wraps a test: if it fails, it may leave the shared window in any state, so the next file gets a new window. */
function tainting(body) {
  return async (context) => {
    try {
      await body(context);
    } catch (error) {
      taint();
      throw error;
    }
  };
}

/** Claims this lane's number. Odd lanes start at the end of the queue, because its two ends need different windows. */
function number() {
  for (let n = 0; ; n += 1) {
    try {
      fs.writeFileSync(path.join(queue, `lane-${n}`), "", { flag: "wx" });
      return n;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
  }
}

/** Takes a test file from the queue and returns its path. The lane that removes an entry of the queue runs its file. */
function next() {
  const entries = fs
    .readdirSync(queue)
    .filter((name) => !name.startsWith("lane-"))
    .sort();
  for (const name of fromTheEnd ? entries.reverse() : entries) {
    const entry = path.join(queue, name);
    try {
      const file = fs.readFileSync(entry, "utf8");
      fs.rmSync(entry);
      return file;
    } catch (error) {
      // another lane was faster
      if (error.code !== "ENOENT") throw error;
    }
  }
  return undefined;
}
