// A race as rows of lists: who can take part, and the ranking. Pure.

import { t } from "@vscode/l10n";
import { pickerRows } from "../../server/modelRows";
import { countText } from "../../ui/format";
import { plainMessage } from "../../ui/text";
import type { ModelsResult, Standing } from "../../wire/protocol";
import type { HostedAgent } from "../../wire/protocolStates";

/** What does the task in one run of a race: a model, or an agent of another maker. */
export interface Runner {
  readonly title: string;
  readonly endpoint?: string;
  readonly model?: string;
  /** The name of the agent. */
  readonly hosted?: string;
}

export interface RunnerRow {
  readonly label: string;
  readonly description?: string;
  readonly isHeading?: boolean;
  readonly runner?: Runner;
}

/** The models that can be chosen, and the agents that are installed. */
export function runnerRows(models: ModelsResult, agents: readonly HostedAgent[]): RunnerRow[] {
  const rows = pickerRows(models).flatMap((row): RunnerRow[] => {
    if (row.kind !== "model") return [];
    const { endpoint, model, label } = row;
    return [{ label, description: row.description, runner: { title: label, endpoint, model } }];
  });
  const isFirst = ({ runner }: RunnerRow, index: number): boolean =>
    rows.findIndex((other) => other.runner?.endpoint === runner?.endpoint && other.runner?.model === runner?.model) ===
    index;
  const hosted = agents
    .filter(({ isInstalled }) => isInstalled)
    .map(({ name, title }) => ({ label: title, runner: { title, hosted: name } }));
  return [
    { label: t("Models"), isHeading: true },
    ...rows.filter(isFirst),
    ...(hosted.length > 0 ? [{ label: t("Agents"), isHeading: true }, ...hosted] : []),
  ];
}

export interface StandingRow {
  readonly icon: string;
  readonly label: string;
  readonly description: string;
  readonly detail: string;
  readonly standing: Standing;
}

const PROOFS: Readonly<Record<Standing["proof"], string>> = {
  proved: t("proved"),
  verified: t("verified"),
  unverified: t("unverified"),
  failed: t("failed"),
};
const ICONS: Readonly<Record<Standing["proof"], string>> = {
  proved: "verified-filled",
  verified: "pass",
  unverified: "question",
  failed: "error",
};

/** The ranking, the best run first. */
export function standingRows(standings: readonly Standing[]): StandingRow[] {
  return standings.map((standing, index) => {
    const { title, proof, newErrors, needed, changes, lines, costUsd, reason } = standing;
    const facts = [
      PROOFS[proof],
      countText(newErrors, "newError"),
      needed === null ? countText(changes, "change") : t("{0} of {1} needed", needed, countText(changes, "change")),
      countText(lines, "line"),
      costUsd === null ? t("cost unknown") : `$${costUsd.toFixed(4)}`,
    ];
    const description = facts.join(" · ");
    return {
      icon: ICONS[proof],
      label: `${String(index + 1)}. ${title}`,
      description,
      detail: plainMessage(reason),
      standing,
    };
  });
}
