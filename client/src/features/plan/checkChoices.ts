// The checks that the user can choose from: those that are set, and those that the workspace suggests. Pure.

import { t } from "@vscode/l10n";
import type { SuggestedCheck } from "../../wire/protocol";
import type { PlanItem } from "../../wire/protocolStates";

export interface CheckChoice {
  /** The command; empty: no check; undefined: all checks that are set. */
  readonly command: string | undefined;
  readonly label: string;
  readonly description: string;
}

/** A choice as a row of the list. */
export interface ListedCheck extends CheckChoice {
  /** The text in the box that the row was made for. */
  readonly typed: string;
}

/** Returns the choices for the check of a step. The user can also type another command. */
export function stepChoices({ check, checkByUser }: PlanItem, suggestions: readonly SuggestedCheck[]): CheckChoice[] {
  const current = check === "" ? [] : [choice(check, checkByUser ? t("set by you") : t("set by the agent"))];
  const others = suggestions.filter(({ command }) => command !== check).map(suggested);
  const none = { command: "", label: t("No Check"), description: t("the agent can complete the step without a check") };
  return [...current, ...others, ...(check === "" ? [] : [none])];
}

/** Returns the checks that the user can choose to run. The user can also type another command. */
export function runChoices(items: readonly PlanItem[], suggestions: readonly SuggestedCheck[]): CheckChoice[] {
  const set = new Map(items.filter(({ check }) => check !== "").map(({ check, content }) => [check, content]));
  const all = { command: undefined, label: t("All Checks"), description: t("of the steps and the settings") };
  return [
    all,
    ...[...set].map(([command, content]) => choice(command, t("check of “{0}”", content))),
    ...suggestions.filter(({ command }) => !set.has(command)).map(suggested),
  ];
}

/**
 * Returns the rows for a text in the box: the text as a command, then the choices whose label contains it, ignoring
 * case. For an empty box, returns all choices.
 */
export function listedChoices(typed: string, choices: readonly CheckChoice[]): ListedCheck[] {
  const command = typed.trim();
  const exact = choices.find((known) => known.command === command);
  const typedChoice = command === "" ? [] : [exact ?? choice(command, t("your command"))];
  const matching = choices.filter(({ label }) => label.toLowerCase().includes(command.toLowerCase()));
  const others = command === "" ? matching : matching.filter((other) => other !== exact);
  return [...typedChoice, ...others].map((listed) => ({ ...listed, typed }));
}

/**
 * Returns the choice that Enter accepts: the selected `row`. Before VS Code shows the rows for a new text, it still
 * reports an older row. Enter then accepts the typed text, or nothing if the box is empty.
 */
export function acceptedChoice(
  typed: string,
  row: ListedCheck | undefined,
  choices: readonly CheckChoice[],
): CheckChoice | undefined {
  return row?.typed === typed ? row : listedChoices(typed, typed.trim() === "" ? [] : choices)[0];
}

const suggested = ({ command, source }: SuggestedCheck): CheckChoice => choice(command, t("suggested by {0}", source));

const choice = (command: string, description: string): CheckChoice => ({
  command,
  label: command,
  description,
});
