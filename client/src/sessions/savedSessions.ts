// Finds the saved sessions of the open folders, so that the server starts only if there are any. Needs no VS Code.

import * as fs from "node:fs/promises";
import * as path from "node:path";

/** What follows the id in the file name of a saved session. */
const SUFFIX = ".jsonl";
/** The maximum number of bytes to read of a file. Its first line has the paths of the session's folders. */
const MAX_HEAD_BYTES = 1024 * 1024;

/** Returns the ids of the sessions in `storage` that had at least one of the open folders when they began. */
export async function savedSessions(storage: string, openFolders: readonly string[]): Promise<string[]> {
  const folder = path.join(storage, "sessions");
  const open = new Set(openFolders.map(comparable));
  const files = await fs.readdir(folder, { withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const file of files) {
    if (!file.isFile() || !file.name.endsWith(SUFFIX)) continue;
    const folders = await foldersOf(path.join(folder, file.name)).catch((): unknown[] => []);
    if (folders.some((each) => typeof each === "string" && open.has(comparable(each))))
      found.push(file.name.slice(0, -SUFFIX.length));
  }
  return found;
}

/** Returns the folders that a session began with. Throws if the file is not readable as a journal. */
async function foldersOf(file: string): Promise<unknown[]> {
  const handle = await fs.open(file);
  try {
    const head = await firstLine(handle);
    const { root, others = [] } = JSON.parse(head) as { root?: unknown; others?: unknown[] };
    return [root, ...others];
  } finally {
    await handle.close();
  }
}

async function firstLine(file: fs.FileHandle): Promise<string> {
  const lines = file.readLines({ end: MAX_HEAD_BYTES })[Symbol.asyncIterator]();
  const { value } = (await lines.next()) as { value?: string };
  await lines.return?.();
  return value ?? "";
}

/**
 * Returns a form of a folder's path in which two paths can be compared: without a trailing separator, as the server
 * saves it, and on Windows in lower case.
 */
function comparable(folder: string): string {
  const normalized = path.normalize(folder);
  const trimmed = normalized.endsWith(path.sep) ? normalized.slice(0, -1) : normalized;
  return process.platform === "win32" ? trimmed.toLowerCase() : trimmed;
}
