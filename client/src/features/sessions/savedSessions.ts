// Finds the saved sessions of the open folders, so that the server starts only if there are any. Needs no VS Code.

import * as fs from "node:fs/promises";
import * as path from "node:path";

/** What follows the id in the file name of a saved session. */
const SUFFIX = ".jsonl";
/**
 * How many bytes of a file are read to find its first line, which has the paths of the session's folders. The second
 * number applies only if the first is not enough.
 */
const HEAD_BYTES = [4096, 1024 * 1024];
/** How many files are read at the same time. A process can open only a few hundred files on some systems. */
const BATCH = 50;

/** Returns the ids of the sessions in `storage` that had at least one of the open folders when they began. */
export async function savedSessions(storage: string, openFolders: readonly string[]): Promise<string[]> {
  const folder = path.join(storage, "sessions");
  const open = new Set(openFolders.map(comparable));
  const files = await fs.readdir(folder, { withFileTypes: true }).catch(() => []);
  const journals = files.filter((file) => file.isFile() && file.name.endsWith(SUFFIX)).map(({ name }) => name);
  const isOpen = async (name: string): Promise<boolean> => {
    const folders = await foldersOf(path.join(folder, name)).catch((): unknown[] => []);
    return folders.some((each) => typeof each === "string" && open.has(comparable(each)));
  };
  const found: string[] = [];
  for (let start = 0; start < journals.length; start += BATCH) {
    const batch = journals.slice(start, start + BATCH);
    const areOpen = await Promise.all(batch.map(isOpen));
    found.push(...batch.filter((_, index) => areOpen[index]));
  }
  return found.map((name) => name.slice(0, -SUFFIX.length));
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
  for (const size of HEAD_BYTES) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
    const end = buffer.subarray(0, bytesRead).indexOf("\n");
    if (end >= 0) return buffer.toString("utf8", 0, end);
  }
  return "";
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
