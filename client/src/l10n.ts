// Gives `t` of @vscode/l10n the texts of VS Code's display language. Imported first, because other modules have texts as constants.

import { config } from "@vscode/l10n";
import { l10n } from "vscode";

if (l10n.bundle) config({ contents: l10n.bundle });
