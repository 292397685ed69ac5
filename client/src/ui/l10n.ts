// Gives `t` of @vscode/l10n the texts of VS Code's display language. Must be imported first, because other modules call
// `t` for constants while they are loaded.

import { config } from "@vscode/l10n";
import { l10n } from "vscode";

if (l10n.bundle) config({ contents: l10n.bundle });
