// How a window recognizes the example's folder. Needs no VS Code API.

import { existsSync } from "node:fs";
import * as path from "node:path";

/** The beginning of the name of the example's folder. */
export const EXAMPLE_PREFIX = "fairlead-example-";
/** The name of the file that marks the folder. VS Code activates the extension in a folder with this file. */
export const EXAMPLE_MARK = ".fairlead-example";

/** Returns whether this folder was created by `openExample`, judging by its name and its mark. */
export function isExampleFolder(folder: string): boolean {
  return path.basename(folder).startsWith(EXAMPLE_PREFIX) && existsSync(path.join(folder, EXAMPLE_MARK));
}
