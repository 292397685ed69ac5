// Runs a command in its own process group, and ends the group when the command ends or standard input closes. Standard
// input also closes when the process on the other end is killed, so a test run leaves nothing behind, however it ends.
// Usage: keeper.mjs MARK SCRATCH COMMAND [ARGUMENT...]. Writes the command's output to SCRATCH/server.log, and removes
// the folder SCRATCH at the end. MARK identifies the command's descendants. The last line on standard output is JSON:
// `left` lists the descendants that had to be killed (only on Linux; otherwise it is empty), and `log` is the end of
// the log, in case nobody has read the log before it is removed.
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { removeFolder } from "../remove-folder.mjs";

const [mark, scratch, command, ...args] = process.argv.slice(2);
const logFile = path.join(scratch, "server.log");
const log = fs.openSync(logFile, "a");
const child = spawn(command, args, {
  detached: process.platform !== "win32",
  stdio: ["ignore", log, log],
  env: { ...process.env, FAIRLEAD_EDITOR_MARK: mark },
});
const ended = new Promise((resolve) => {
  child.on("exit", resolve);
  child.on("error", (error) => {
    fs.writeSync(log, `${error.message}\n`);
    resolve();
  });
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});

await Promise.race([
  ended,
  new Promise((resolve) => {
    process.stdin.on("end", resolve).resume();
  }),
]);
signalGroup("SIGTERM");
await within(3000, () => !groupAlive() && strays().length === 0);
const left = strays();
signalGroup("SIGKILL");
for (const { pid } of left) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
await within(3000, () => !groupAlive() && strays().length === 0);
const report = { left, log: fs.readFileSync(logFile, "utf8").trim().slice(-2000) };
removeFolder(scratch);
process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit());

function signalGroup(signal) {
  try {
    if (process.platform !== "win32") process.kill(-child.pid, signal);
    else execFileSync("taskkill", ["/pid", String(child.pid), "/T", "/F"], { stdio: "ignore" });
  } catch {
    // The group is gone.
  }
}

function groupAlive() {
  if (process.platform === "win32") return child.exitCode === null;
  try {
    process.kill(-child.pid, 0);
    return true;
  } catch {
    return false;
  }
}

// Finds descendants by the mark, because a descendant that started its own session is no longer in the group.
function strays() {
  if (process.platform !== "linux") return [];
  const found = [];
  for (const pid of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)) {
    try {
      if (!fs.readFileSync(`/proc/${pid}/environ`, "latin1").includes(`FAIRLEAD_EDITOR_MARK=${mark}\0`)) continue;
      found.push({
        pid: Number(pid),
        command: fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim(),
      });
    } catch {
      // It has ended meanwhile, or belongs to another user.
    }
  }
  return found;
}

async function within(milliseconds, condition) {
  const deadline = Date.now() + milliseconds;
  while (!condition() && Date.now() < deadline) await pause(20);
}
