// The titles of CodeLenses and code actions, and the reasons of approvals, from the server in the user's language. Pure.

import * as l10n from "@vscode/l10n";
import type { Title } from "../wire/protocol";

/** The translations are next to those of the client, by the English text. */
export function titleText({ prefix, template, arguments: parts }: Title): string {
  return prefix + (template === "" ? "" : l10n.t(template, ...parts));
}
