// Removes folders that may hold a sandbox layer.

import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";

/**
 * Removes a folder with all that is in it. Does nothing if it does not exist. overlayfs leaves folders without permissions,
 * which only root can list, so these are made writable first.
 */
export function removeFolder(folder) {
  const options = { recursive: true, force: true, maxRetries: 10 };
  try {
    rmSync(folder, options);
  } catch (error) {
    if (error.code !== "EACCES") throw error;
    spawnSync("chmod", ["-R", "u+rwX", folder]);
    rmSync(folder, options);
  }
}
