// Lets one setup of each name run at a time. A lock is a directory, because creating one is atomic on every system.

import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "./process.mjs";
import { withProgress } from "./progress.mjs";

const HEARTBEAT_MS = 5_000;
const STALE_MS = 60_000;

/**
 * Waits for the lock of this name, runs `work` while holding it, and returns what `work` returns. A lock is taken over
 * if its process ran on this machine and has ended, or has given no sign of life for `STALE_MS`.
 */
export async function withLock(name, work) {
  const directory = path.join(root, ".setup", `${name}.lock`);
  mkdirSync(path.dirname(directory), { recursive: true });
  if (!take(directory)) {
    await withProgress(`wait for another setup of ${name}`, async () => {
      while (!take(directory)) await sleep(250);
    });
  }
  const heartbeat = setInterval(() => beat(directory), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    rmSync(directory, { recursive: true, force: true });
  }
}

function take(directory) {
  if (isStale(directory)) discard(directory);
  try {
    mkdirSync(directory);
  } catch (error) {
    // On Windows the error is EPERM while another process removes the directory.
    if (error.code === "EEXIST" || error.code === "EPERM") return false;
    throw error;
  }
  writeFileSync(path.join(directory, "owner"), `${hostname()} ${process.pid}`);
  return true;
}

function isStale(directory) {
  try {
    if (Date.now() - statSync(directory).mtimeMs > STALE_MS) return true;
    const [host, pid] = readFileSync(path.join(directory, "owner"), "utf8").split(" ");
    return host === hostname() && !isAlive(Number(pid));
  } catch {
    return false;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

// Another process may just have replaced the stale lock with its own. In that case, the other's lock is moved back.
function discard(directory) {
  const aside = `${directory}.${process.pid}`;
  try {
    renameSync(directory, aside);
    if (isStale(aside)) rmSync(aside, { recursive: true, force: true });
    else renameSync(aside, directory);
  } catch {
    return;
  }
}

function beat(directory) {
  const now = new Date();
  try {
    utimesSync(directory, now, now);
  } catch {
    return;
  }
}
