// The rows of the Plan view for the things that wait for the user and the work outside of the plan. Pure.

import { t } from "@vscode/l10n";
import { countText } from "../../ui/format";
import type { RunError } from "../../wire/protocol";
import type { Outside } from "../../wire/protocolStates";
import { evidenceLines, type PlanRow } from "../../ui/stepRow";
import { actionLabel, remedy, type ErrorAction } from "../../server/errorActions";
import { earlyEndTexts } from "../../state/waiting";
import type { EndEntry } from "../../state/session";

const OUTSIDE_TEXTS: Record<Outside["id"], { label: string; tooltip: string }> = {
  before: { label: t("Before the plan"), tooltip: t("What the agent did before it had a plan.") },
  unplanned: {
    label: t("Unplanned"),
    tooltip: t("What the agent did while no step of the plan was in progress."),
  },
};

/** Returns the row of a paused run. A click on it continues the run. */
export function pauseRow(reason: string): PlanRow {
  return {
    id: "pause",
    label: t("Continue"),
    description: reason,
    tooltip: reason,
    icon: "debug-continue",
    color: "charts.yellow",
    screenReaderLabel: t("Continue. The agent paused. {0}", reason),
  };
}

/** The row of a plan that waits for approval. `steps`: the number of steps that are not completed. */
export function goRow(steps: number): PlanRow {
  return {
    id: "go",
    label: t("Go"),
    description: t("the plan is ready, {0}", countText(steps, "step")),
    tooltip: t("The plan is ready. Edit it if you like, then choose Go."),
    icon: "rocket",
    color: "charts.yellow",
    screenReaderLabel: t("Go. The plan is ready and waits for your approval."),
  };
}

/**
 * Returns the row of a run that ended early. A click on it continues the run, after what helps against the cause
 * (`remedy`). `usesKey` says whether the model's provider takes a key, as opposed to a sign-in.
 */
export function retryRow(end: EndEntry, usesKey: boolean): PlanRow {
  const { message } = end;
  const help = remedy(end.error, usesKey);
  const { title, button } = earlyEndTexts(end);
  const label = help ? actionLabel(help) : (button ?? title);
  return {
    id: "retry",
    label,
    description: message,
    tooltip: message,
    icon: help?.kind === "setKey" ? "key" : "refresh",
    color: "charts.red",
    screenReaderLabel: t("{0}. {1} {2}", label, title, message),
  };
}

/** The row of a run that has been waiting to send its request again. A click on it does what may help. */
export function waitRow(help: ErrorAction, { message }: RunError): PlanRow {
  const label = actionLabel(help);
  return {
    id: "wait",
    label,
    description: "", // the view's message says it
    tooltip: message,
    icon: "debug-disconnect",
    color: "charts.yellow",
    screenReaderLabel: [label, message].join(". "),
  };
}

/** The row of another session that waits for the user. */
export function otherRow(sessionId: string, name: string): PlanRow {
  return {
    id: `other-${sessionId}`,
    label: name,
    description: t("is waiting for you"),
    tooltip: t("{0} is waiting for you. Show it.", name),
    icon: "question",
    color: "charts.yellow",
    screenReaderLabel: t("Another session is waiting for you: {0}", name),
  };
}

/** The row of work that was done while no step was in progress. */
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

/** The row of all that the agent did without a plan, the latest last. */
export function inferredRow(texts: readonly string[]): PlanRow {
  const label = t("Inferred steps");
  const description = [String(texts.length), texts.at(-1)].join(" · ");
  return {
    id: "inferred",
    label,
    description,
    tooltip: t("The agent wrote no plan. These steps are inferred from its tool calls."),
    icon: "eye",
    color: "descriptionForeground",
    screenReaderLabel: [label, description].join(", "),
  };
}

/** The row of one of them. */
export function inferredStepRow(text: string, index: number): PlanRow {
  return {
    id: `inferred-${index}`,
    label: text,
    description: "",
    tooltip: text,
    icon: "circle-small",
    color: "descriptionForeground",
    screenReaderLabel: t("{0}, inferred", text),
  };
}
