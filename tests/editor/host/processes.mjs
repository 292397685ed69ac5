// The processes of one VS Code, seen from outside: those that have its home folder in their environment. Linux only.

import fs from "node:fs";

/** The process ids of its extension hosts, and of the agent's servers. */
export const hostPids = (code) => pids(code, (command) => command.some((part) => part.includes("extensionHost")));
export const serverPids = (code) => pids(code, (command) => command.includes("fairlead") && command.includes("serve"));

function pids(code, wanted) {
  return fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const read = (file) => fs.readFileSync(`/proc/${pid}/${file}`, "utf8").split("\0");
        return wanted(read("cmdline")) && read("environ").includes(`HOME=${code.home}`);
      } catch {
        return false;
      }
    });
}
