// The real Claude Code for tests and pictures: its packages, and a stand-in of its API (stand_in.py).

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { promisify } from "node:util";
import { venvProgram, root } from "../../scripts/process.mjs";
import { agentsDir } from "../../scripts/agents.mjs";
import { temporaryFile } from "../editor/host/temporary.mjs";

/** Any text: the stand-in takes each key. */
export const KEY = "the-real-key";

/**
 * Starts a stand-in that plays `work`: for each prompt, which is found by a text in it, the calls as `[tool, input]` and
 * the text at the end. Returns its `url`, `requests()`, the bodies of the requests so far in JSON, and `close()`.
 */
export async function startStandIn(work) {
  const [script, asked] = [temporaryFile("work.json"), temporaryFile("asked.jsonl")];
  fs.writeFileSync(script, JSON.stringify(work));
  const program = path.join(root, "tests", "real_agents", "stand_in.py");
  const child = spawn(venvProgram("python"), [program, script, asked], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = readline.createInterface({ input: child.stdout });
  const [url] = await once(lines, "line");
  lines.close();
  const requests = () => fs.readFileSync(asked, "utf8").trim().split("\n");
  const close = async () => {
    child.stdin.end();
    if (child.exitCode === null) await once(child, "exit");
  };
  return { url, requests, close };
}

/** Installs Claude Code for the user with this home, unless an earlier test has done that. */
export async function installClaude(home) {
  const folder = path.join(home, ".local", "share", "fairlead", "agents");
  fs.mkdirSync(folder, { recursive: true });
  fs.mkdirSync(agentsDir(), { recursive: true });
  fs.symlinkSync(agentsDir(), path.join(folder, "packages"));
  const { XDG_DATA_HOME: _, ...env } = { ...process.env, HOME: home };
  await promisify(execFile)(venvProgram("fairlead"), ["agents", "install", "claude"], { env });
}
