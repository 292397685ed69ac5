// What the server says, in the user's language: titles of CodeLenses and code actions, reasons, records. Pure.

import * as l10n from "@vscode/l10n";
import type { RunResult, Title } from "../wire/protocol";

/** The translations are next to those of the client, by the English text. */
export function titleText({ prefix, template, arguments: parts }: Title): string {
  return prefix + (template === "" ? "" : l10n.t(template, ...parts));
}

/** Returns the record at the end of a run. An end that only the client knows has none. */
export function recordText({ record, recordTexts }: Pick<RunResult, "record"> & Partial<RunResult>): string {
  return recordTexts ? recordTexts.map(titleText).join("") : record;
}
