// What the server says, in the user's language: titles of CodeLenses and code actions, reasons, records. Pure.

import * as l10n from "@vscode/l10n";
import type { RunResult } from "../wire/protocol";
import type { Title } from "../wire/protocolStates";

/** The translations are next to those of the client, by the English text. */
export function titleText({ prefix, template, arguments: parts }: Title): string {
  return prefix + (template === "" ? "" : l10n.t(template, ...parts));
}

/** A message of the server with its parts. */
interface Message {
  readonly message: string;
  readonly texts: readonly Title[];
}

/** Returns something with its message in the user's language. */
export const translated = <T extends Message>(each: T): T => ({ ...each, message: each.texts.map(titleText).join("") });

/** The messages that a result may have. */
interface Messages {
  readonly message?: string;
  readonly error?: Message | null;
  readonly outcomes?: readonly Message[];
  readonly kept?: readonly Message[];
}

/** Returns the result of a request with its messages in the user's language. */
export function withTranslations<T>(result: T): T {
  if (typeof result !== "object" || result === null) return result;
  const { message, error, outcomes, kept } = result as Messages;
  if (!error && !outcomes && !kept) return result;
  const shown = error ? translated(error) : undefined;
  return {
    ...result,
    ...(shown && { error: shown, message: message === error?.message ? shown.message : message }),
    ...(outcomes && { outcomes: outcomes.map(translated) }),
    ...(kept && { kept: kept.map(translated) }),
  };
}

/** Returns the record at the end of a run. An end that only the client knows has none. */
export function recordText({ record, recordTexts }: Pick<RunResult, "record"> & Partial<RunResult>): string {
  return recordTexts ? recordTexts.map(titleText).join("") : record;
}
