// The plan as rows: what a tree view shows of it. Pure.

import type { ItemStatus, Plan, PlanItem } from "./protocol";

export interface PlanRow {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  readonly icon: string;
  readonly color: string | undefined;
  /** What a screen reader says. */
  readonly spoken: string;
}

const LOOKS: Record<ItemStatus, { icon: string; color: string | undefined; word: string }> = {
  pending: { icon: "circle-large-outline", color: undefined, word: "pending" },
  in_progress: { icon: "sync~spin", color: "charts.blue", word: "in progress" },
  completed: { icon: "pass-filled", color: "charts.green", word: "completed" },
};

/** One row per item. `running` says whether the agent is at work: an item in progress turns only then. */
export function planRows(plan: Plan | undefined, running: boolean): PlanRow[] {
  return (plan?.items ?? []).map((item) => planRow(item, running));
}

function planRow(item: PlanItem, running: boolean): PlanRow {
  const look = LOOKS[item.status];
  const current = item.status === "in_progress";
  const doing = current ? item.activeForm || "in progress" : "";
  return {
    id: item.id,
    label: item.content,
    description: doing,
    tooltip: `${item.content}\n${look.word}${current && item.activeForm ? `: ${item.activeForm}` : ""}`,
    icon: current && !running ? "debug-pause" : look.icon,
    color: look.color,
    spoken: `${item.content}, ${look.word}`,
  };
}

/** `2/5`, empty without a plan. */
export function planCount(plan: Plan | undefined): string {
  return plan && plan.total > 0 ? `${plan.completed}/${plan.total}` : "";
}
