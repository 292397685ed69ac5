// Finds the saved sessions of the open folders, so that the server starts only if there are any. Needs no VS Code.

import * as fs from "node:fs/promises";
import * as path from "node:path";

/** What follows the id in the file name of a saved session. */
const SUFFIX = ".jsonl";
/** How much of a file is read, in bytes. Its first line has the paths of the session's folders. */
const HEAD_BYTES = 16 * 1024;

/** Returns the ids of the sessions in a storage folder that began with at least one of the open folders. */
export async function savedSessions(storage: string, openFolders: readonly string[]): Promise<string[]> {
  const folder = path.join(storage, "sessions");
  const files = await fs.readdir(folder, { withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const file of files) {
    if (!file.isFile() || !file.name.endsWith(SUFFIX)) continue;
    const folders = await foldersOf(path.join(folder, file.name)).catch((): unknown[] => []);
    if (folders.some((each) => typeof each === "string" && openFolders.includes(each)))
      found.push(file.name.slice(0, -SUFFIX.length));
  }
  return found;
}

/** Returns the folders that a session began with. Throws if the file is not readable as a journal. */
async function foldersOf(file: string): Promise<unknown[]> {
  const handle = await fs.open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const [head = ""] = buffer.toString("utf8", 0, bytesRead).split("\n", 1);
    const { root, others = [] } = JSON.parse(head) as { root?: unknown; others?: unknown[] };
    return [root, ...others];
  } finally {
    await handle.close();
  }
}
