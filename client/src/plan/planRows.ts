// The plan as rows: what a tree view shows of its steps, and of what happened beside them. Pure.

import { plural, costSummary } from "../ui/format";
import type { Evidence, Outside, Plan, PlanItem } from "../protocol";
import { escapeInvisible } from "../ui/text";

export interface PlanRow {
  /** Tells the row from all others of its session. */
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  readonly icon: string;
  readonly color: string | undefined;
  /** What a screen reader says. */
  readonly screenReaderLabel: string;
}

interface Appearance {
  readonly icon: string;
  readonly color?: string;
  readonly word: string;
  /** What stands beside the step, where its icon alone says too little. */
  readonly note?: string;
}

const DONE: Record<PlanItem["verification"], Appearance> = {
  none: { icon: "pass-filled", color: "charts.green", word: "done" },
  shown: { icon: "pass-filled", color: "charts.green", word: "done" },
  claimed: {
    icon: "pass",
    color: "descriptionForeground",
    word: "done, nothing on record",
    note: "nothing on record",
  },
  contradicted: {
    icon: "warning",
    color: "charts.orange",
    word: "done, but its last command failed",
    note: "last command failed",
  },
};

const OUTSIDE_TEXTS: Record<Outside["id"], { label: string; tooltip: string }> = {
  before: { label: "Before the plan", tooltip: "What the agent did before it had a plan." },
  unplanned: { label: "Unplanned", tooltip: "What the agent did while no step of the plan was in progress." },
};

/** What the agent does: a step in progress turns only while it works. */
export type Activity = "works" | "waits" | "rests";

/** `again` is what later changed the step's edits, in words. */
export function stepRow(item: PlanItem, activity: Activity, laterChanges: readonly string[] = []): PlanRow {
  const look = appearanceOf(item, activity);
  const doing = item.status === "in_progress" && !look.note ? item.activeForm || "in progress" : "";
  const lines = [
    item.content,
    sentence(look.word) + (doing && item.activeForm ? `: ${item.activeForm}` : ""),
    item.byUser ? "In your words." : "",
    ...laterChanges.map((words) => `${sentence(words)}.`),
    ...evidenceLines(item.evidence),
  ];
  return {
    id: `item-${item.id}`,
    label: item.content,
    description: doing || (look.note ?? (laterChanges.length > 0 ? "changed again" : "")),
    tooltip: lines.filter(Boolean).join("\n"),
    icon: look.icon,
    color: look.color,
    screenReaderLabel: [item.content, look.word, ...laterChanges].join(", "),
  };
}

/** A run that paused, and goes on when the user says so. */
export function pauseRow(reason: string): PlanRow {
  const shown = escapeInvisible(reason);
  return {
    id: "pause",
    label: "Go On",
    description: shown.replace(/\s+/g, " "),
    tooltip: shown,
    icon: "debug-continue",
    color: "charts.yellow",
    screenReaderLabel: `Go on. The agent paused. ${shown}`,
  };
}

/** What happened while no step was in progress. */
export function outsideRow({ id, evidence }: Outside): PlanRow {
  const { label, tooltip } = OUTSIDE_TEXTS[id];
  const happened = evidenceLines(evidence);
  return {
    id: `outside-${id}`,
    label,
    description: happened[0] ?? "",
    tooltip: [tooltip, ...happened].join("\n"),
    icon: id === "before" ? "telescope" : "circle-small-filled",
    color: undefined,
    screenReaderLabel: [label, ...happened].join(", "),
  };
}

/** What an agent without a plan was seen doing. */
export function inferredRow(text: string, index: number): PlanRow {
  return {
    id: `inferred-${index}`,
    label: text,
    description: "inferred",
    tooltip: `${text}\nThe agent made no plan; this is what it was seen doing.`,
    icon: "eye",
    color: "descriptionForeground",
    screenReaderLabel: `${text}, inferred`,
  };
}

/** `2/5`, empty without a plan. */
export function planCount(plan: Plan | undefined): string {
  return plan && plan.total > 0 ? `${plan.completed}/${plan.total}` : "";
}

function appearanceOf(item: PlanItem, activity: Activity): Appearance {
  if (item.status === "completed") return DONE[item.verification];
  if (item.held) return { icon: "debug-pause", color: "charts.yellow", word: "held", note: "held" };
  if (item.status === "pending") return { icon: "circle-large-outline", word: "to do" };
  if (activity === "waits")
    return { icon: "question", color: "charts.yellow", word: "waiting for you", note: "waiting for you" };
  return { icon: activity === "works" ? "sync~spin" : "debug-pause", color: "charts.blue", word: "in progress" };
}

/** What is on record, then what it took. */
function evidenceLines(evidence: Evidence): string[] {
  const { files, commands, looks } = evidence;
  const counts = [
    files.length > 0 ? plural(files.length, "file") : "",
    commands.length > 0 ? plural(commands.length, "command") : "",
    looks > 0 ? plural(looks, "look") : "",
  ];
  return [counts.filter(Boolean).join(", "), costSummary(evidence)].filter(Boolean);
}

const sentence = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
