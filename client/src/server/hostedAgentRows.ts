// The hosted agents and what can be chosen for one, as rows and labels. Pure.

import { t } from "@vscode/l10n";
import { modeName, type TaskMode } from "../state/taskMode";
import { oneOrMany } from "../ui/format";
import type { PickTexts } from "../ui/show";
import type { AgentChoice, AgentOption, HostedAgent, HostedAgents } from "../wire/protocolStates";

/** An agent that the user can choose; undefined: Fairlead's own. */
export interface AgentRow extends PickTexts {
  readonly agent: HostedAgent | undefined;
}

export interface OptionRow extends PickTexts {
  readonly option: AgentOption;
}

export interface ChoiceRow extends PickTexts {
  readonly choice: AgentChoice;
}

/** What Fairlead calls its own agent. */
export const OWN_TITLE = "Fairlead";

/** The agents, Fairlead's own first. `chosen` is the name of the current one, `mode` that of the prompt. */
export function agentRows(agents: readonly HostedAgent[], chosen: string, mode: TaskMode): AgentRow[] {
  const icon = (name: string): string => (name === chosen ? "check" : "blank");
  const ends = mode === "agent" ? "" : t("Ends the mode {0}, which only Fairlead has.", modeName(mode));
  const hosted = agents.map((agent) => ({
    agent,
    icon: icon(agent.name),
    label: agent.title,
    description: agent.name,
    detail: [agent.isInstalled ? "" : installText(agent), ends].filter(Boolean).join(" "),
  }));
  const own = { agent: undefined, icon: icon(""), label: OWN_TITLE, detail: t("Uses the model that you choose.") };
  return [own, ...hosted];
}

function installText({ packages }: HostedAgent): string {
  if (packages.length === 0) return t("Not installed.");
  return oneOrMany(
    packages.length,
    t("Not installed: installs 1 package once."),
    t("Not installed: installs {0} packages once.", packages.length),
  );
}

/** The options of an agent, with the values that hold. An option without a choice is left out. */
export const optionRows = (options: readonly AgentOption[]): OptionRow[] =>
  options
    .filter(({ choices }) => choices.length > 0)
    .map((option) => ({ option, label: option.name, description: valueOf(option) }));

export const choiceRows = ({ value, choices }: AgentOption): ChoiceRow[] =>
  choices.map((choice) => ({
    choice,
    icon: choice.id === value ? "check" : "blank",
    label: choice.name,
    detail: choice.about,
  }));

/** The agent's model, or else that it has options; empty if it has none, or they are not known. */
export function optionsLabel(options: readonly AgentOption[]): string {
  const model = options.find(({ category }) => category === "model");
  if (model) return valueOf(model);
  return options.length > 0 ? t("Options") : "";
}

/** Those of an agent that the server knows, if it has the same choice; none if the agent has not worked since then. */
export const optionsOf = (listed: HostedAgents | undefined, chosen: string): readonly AgentOption[] =>
  listed?.chosen === chosen ? listed.options : [];

/** What the agent knows after a slash, under the same condition. */
export const typedCommands = (
  listed: HostedAgents | undefined,
  chosen: string,
): { name: string; description: string; hint: string; isForUser: true }[] =>
  (listed?.chosen === chosen ? listed.commands : []).map(({ id, about }) => {
    return { name: id, description: about, hint: "", isForUser: true };
  });

const valueOf = ({ value, choices }: AgentOption): string => choices.find(({ id }) => id === value)?.name ?? value;
