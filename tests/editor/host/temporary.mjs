// Files that are removed when the process ends.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";

let folder;
let count = 0;

/** A path in a new folder, for a file that does not exist yet. */
export function temporaryFile(name) {
  if (folder === undefined) {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-files-"));
    process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
  }
  const own = path.join(folder, String((count += 1)));
  fs.mkdirSync(own);
  return path.join(own, name);
}
