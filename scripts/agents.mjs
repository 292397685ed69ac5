// The agents of others, which Fairlead itself installs for the tests and the pictures that use them.

import path from "node:path";
import { cacheDir } from "./vscode/packages.mjs";

/** The folder of their packages: that of the environment, or the one in the user's cache. */
export const agentsDir = () => process.env.FAIRLEAD_AGENTS || path.join(cacheDir(), "agents");
