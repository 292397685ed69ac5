// Gives `t` of @vscode/l10n the texts that the page has in VS Code's display language. Must be imported first, because
// other modules call `t` for constants while they are loaded.

import { config } from "@vscode/l10n";

const { texts } = document.documentElement.dataset;
if (texts) config({ contents: texts });
