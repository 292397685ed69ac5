// 800 proposed files in the real VS Code: how long its extension host is blocked, and how long each action takes.
// node tests/editor/run.mjs benchmarks/editor/pending.test.mjs

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { ROOT, runTask, useAgent, write } from "../../tests/editor/agent.mjs";
import { temporaryFile } from "../../tests/editor/host/temporary.mjs";

const FILES = 800;
const VIEW = "Proposed Changes";
const delays = temporaryFile("delays.json");
const name = (number) => `f${String(number).padStart(3, "0")}.txt`;

// In the extension host, before the extension: SIGUSR2 writes the longest time in ms since the last one.
const MEASURE = `
const fs = require("node:fs");
const delays = require("node:perf_hooks").monitorEventLoopDelay({ resolution: 5 });
delays.enable();
process.on("SIGUSR2", () => {
  fs.writeFileSync(${JSON.stringify(`${delays}.part`)}, JSON.stringify(delays.max / 1e6));
  fs.renameSync(${JSON.stringify(`${delays}.part`)}, ${JSON.stringify(delays)});
  delays.reset();
});
fs.writeFileSync(${JSON.stringify(`${delays}.pid`)}, String(process.pid));
module.exports = require("./extension.js");
`;

const editorTest = useAgent(
  [
    ...Array.from({ length: FILES }, (_, number) => ({ calls: [write(name(number), `${number}\nsecond\n`)] })),
    { text: "Written." },
  ],
  {
    own: true,
    extensions: [measuring()],
    workspace: Object.fromEntries(Array.from({ length: FILES }, (_, number) => [name(number), `${number}\n`])),
    settings: { "fairlead.loop.maxRounds": FILES + 5, "fairlead.loop.maxIdleRounds": FILES + 5 },
  },
);

/** A copy of the extension of this checkout that measures its process. */
function measuring() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-measured-"));
  process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
  for (const each of ["package.json", "package.nls.json", "dist", "client/media"])
    fs.cpSync(path.join(ROOT, each), path.join(folder, each), { recursive: true });
  fs.symlinkSync(path.join(ROOT, ".venv"), path.join(folder, ".venv"));
  fs.writeFileSync(path.join(folder, "dist", "measured.js"), MEASURE);
  const manifest = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
  fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify({ ...manifest, main: "./dist/measured.js" }));
  return folder;
}

/** Does something, and reports its time and the longest time that the extension host was blocked meanwhile. */
async function measured(context, page, what, action) {
  await longest(page);
  const began = performance.now();
  await action();
  const taken = performance.now() - began;
  context.diagnostic(
    `figure: ${what} took ${(taken / 1000).toFixed(2)} s, blocked ${(await longest(page)).toFixed(0)} ms`,
  );
}

/** The longest delay of the extension host since the last call, in ms. */
async function longest(page) {
  fs.rmSync(delays, { force: true });
  process.kill(Number(fs.readFileSync(`${delays}.pid`, "utf8")), "SIGUSR2");
  await page.until("the delays", () => fs.existsSync(delays));
  return JSON.parse(fs.readFileSync(delays, "utf8"));
}

editorTest("800 files are proposed and decided", async ({ page, workspace }, context) => {
  const onDisk = (number) => fs.readFileSync(path.join(workspace, name(number)), "utf8").split("\n").length;
  await page.showContainer("Fairlead"); // activates the extension
  await page.until("the extension", () => fs.existsSync(`${delays}.pid`));
  await page.showContainer("Explorer");
  await measured(context, page, "the run", async () => {
    await runTask(page, "Write them");
    await page.toast("Written.");
  });
  await measured(context, page, "opening the view", async () => {
    await page.showContainer("Fairlead");
    await page.rows(VIEW, (rows) => rows.length > 3);
  });
  await measured(context, page, "accepting one file", async () => {
    await page.rowAction(VIEW, name(0), "Accept");
    await page.until("the file", () => onDisk(0) === 3);
    await page.rows(VIEW, (rows) => rows.length > 0 && rows[0].label !== name(0));
  });
  await measured(context, page, "accepting all", async () => {
    await page.runCommand("Agent: Accept All");
    await page.until("the last file", () => onDisk(FILES - 1) === 3, 60_000);
  });
  await measured(context, page, "undoing that", async () => {
    await page.runCommand("Agent: Undo Review");
    await page.until("the last file", () => onDisk(FILES - 1) === 2, 60_000);
  });
});
