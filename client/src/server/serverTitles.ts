// The titles of the server's CodeLenses and code actions in the user's language. Pure.

import * as l10n from "@vscode/l10n";
import type { Title } from "../wire/protocol";

/** The translations are next to those of the client, by the English text. */
export function titleText({ prefix, template, arguments: parts }: Title): string {
  return prefix + l10n.t(template, ...parts);
}
