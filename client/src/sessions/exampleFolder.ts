// How a window recognizes the example's folder. Needs no VS Code API.

import { existsSync } from "node:fs";
import * as path from "node:path";

/** The beginning of the folder's name. */
export const EXAMPLE_PREFIX = "fairlead-example-";
/** The file in the folder that marks it. VS Code activates the extension in a folder with this file. */
export const EXAMPLE_MARK = ".fairlead-example";

/** Returns whether `openExample` made a folder: it has the name and the mark. */
export function isExampleFolder(folder: string): boolean {
  return path.basename(folder).startsWith(EXAMPLE_PREFIX) && existsSync(path.join(folder, EXAMPLE_MARK));
}
