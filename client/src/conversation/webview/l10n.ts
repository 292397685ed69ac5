// Gives `t` of @vscode/l10n the texts that the page has in VS Code's display language. Imported first, because other modules have
// texts as constants.

import { config } from "@vscode/l10n";

const { texts } = document.documentElement.dataset;
if (texts) config({ contents: texts });
