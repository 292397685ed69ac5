// The row of a step, which the plan and the conversation show, and texts about a plan. Pure.

import { t } from "@vscode/l10n";
import type { BrokenBy, Edits, Evidence, FileEdits, Plan, PlanItem } from "../wire/protocolStates";
import { unneededChanges } from "./changeTexts";
import { countText, costSummary } from "./format";
import { errorCount } from "./problemTexts";
import type { Appearance, Row } from "./row";
import { capitalized } from "./text";

export interface PlanRow extends Row {
  /** Unique within the session. */
  readonly id: string;
}

interface StepAppearance extends Appearance {
  /** The text next to the step, if the icon is not enough. */
  readonly note?: string;
}

const GREEN = { icon: "pass-filled", color: "charts.green" };
const GREY = { icon: "pass", color: "descriptionForeground" };
const RED = { icon: "error", color: "charts.red" };
const ORANGE = { icon: "warning", color: "charts.orange" };

/**
 * What the agent is doing: working, waiting for the user, or not running. The icon of the step in progress spins only
 * while the agent works.
 */
export type Activity = "working" | "waiting" | "idle";

/**
 * Returns the row of a step. `relative` converts a URI to a path for display. `edits`: what is proposed. `laterChanges`:
 * texts that say what later changed the step's parts of files.
 */
export function stepRow(
  item: PlanItem,
  activity: Activity,
  relative: (uri: string) => string,
  edits?: Pick<Edits, "files" | "needed">,
  laterChanges: readonly string[] = [],
): PlanRow {
  const look = appearanceOf(item, activity, relative);
  const changed =
    item.changedSince.length > 0 ? t("Changed since: {0}", item.changedSince.map(relative).join(", ")) : "";
  const unread =
    item.unread.length > 0 ? t("Not read by what verified it: {0}", item.unread.map(relative).join(", ")) : "";
  const leftovers =
    item.leftovers.length > 0 ? t("Passes only with the ignored: {0}", item.leftovers.map(relative).join(", ")) : "";
  const doing = item.status === "in_progress" && !look.note ? item.activeForm || look.word : "";
  const errors = errorCount(item.newErrors);
  const weakened = weakensTests(item, edits?.files ?? []) ? t("weakens tests") : "";
  const unneeded = item.status === "completed" ? unneededChanges(item.id, edits, relative) : [];
  const lines = [
    item.content,
    capitalized(look.word) + (doing && item.activeForm ? `: ${item.activeForm}` : ""),
    errors ? t("Its proposed changes cause {0}.", errors) : "",
    weakened ? t("Its proposed changes weaken tests, so what passes says less.") : "",
    changed,
    unread,
    leftovers,
    item.check ? checkText(item.checkByUser, item.check) : "",
    item.byUser ? t("Your wording.") : "",
    ...laterChanges.map((words) => `${capitalized(words)}.`),
    ...evidenceLines(item.evidence),
    unneeded.length > 0 ? t("This tick would stay without any one of: {0}", unneeded.join(", ")) : "",
  ];
  const stays = unneeded.length > 0 ? t("{0} not needed", countText(unneeded.length, "change")) : "";
  return {
    id: `item-${item.id}`,
    label: item.content,
    description: [errors, doing || look.note, weakened, stays].filter(Boolean).join(" · "),
    tooltip: lines.filter(Boolean).join("\n"),
    ...(errors && item.status === "completed" ? RED : { icon: look.icon, color: look.color }),
    screenReaderLabel: [item.content, look.word, errors, weakened, ...laterChanges].filter(Boolean).join(", "),
  };
}

/** Whether changes of a step weaken tests (docs/plan.md, P22). */
const weakensTests = ({ id }: PlanItem, files: readonly FileEdits[]): boolean =>
  files.some(
    ({ weakens, itemIds, hunks }) =>
      (weakens.length > 0 && itemIds.includes(id)) ||
      hunks.some((hunk) => hunk.weakens.length > 0 && hunk.itemId === id),
  );

/** Returns how many steps are completed, such as `2/5`; empty without a plan or if it has no steps. */
export function planCount(plan: Plan | undefined): string {
  return plan && plan.total > 0 ? `${plan.completed}/${plan.total}` : "";
}

function appearanceOf(item: PlanItem, activity: Activity, relative: (uri: string) => string): StepAppearance {
  if (item.status === "completed") return completedAppearance(item, relative);
  if (item.held) return { icon: "debug-pause", color: "charts.yellow", word: t("held"), note: t("held") };
  if (item.status === "pending") {
    const { check } = item;
    const word = check ? t("to do, with the check {0}", check) : t("to do");
    return { icon: "circle-large-outline", word, ...(check ? { note: t("check: {0}", check) } : {}) };
  }
  if (activity === "waiting")
    return { icon: "question", color: "charts.yellow", word: t("waiting for you"), note: t("waiting for you") };
  if (activity === "working") return { icon: "sync~spin", color: "charts.blue", word: t("in progress") };
  return { icon: "debug-pause", color: "charts.blue", word: t("not finished"), note: t("not finished") };
}

function completedAppearance(
  {
    verification,
    decidedBy: command,
    changedSince,
    brokenBy,
    flaky,
    leftovers,
    testsPassWithout,
    unread,
    evidence,
    newErrors,
  }: PlanItem,
  relative: (uri: string) => string,
): StepAppearance {
  const broken = brokenBy ? brokenText(brokenBy, relative) : "";
  const changed = t("{0} changed since", countText(changedSince.length, "file"));
  switch (verification) {
    case "verified":
      if (testsPassWithout)
        return {
          ...GREEN,
          word: t("done, verified by {0}, but the new tests pass without the change", command),
          note: t("verified · the new tests pass without the change"),
        };
      return { ...GREEN, word: t("done, verified by {0}", command), note: t("verified") };
    case "proved":
      return { ...GREEN, word: t("done, proved by {0}, which fails without the change", command), note: t("proved") };
    case "stale":
      return { ...ORANGE, word: t("done, {0} it was verified by {1}", changed, command), note: changed };
    case "failed":
      return {
        ...ORANGE,
        word: [t("done, but {0} failed", command), broken].filter(Boolean).join(", "),
        note: [broken, t("failed: {0}", command)].filter(Boolean).join(" · "), // the cause first: the view is narrow
      };
    case "unverified":
      if (flaky)
        return {
          ...ORANGE,
          word: t("done, but {0} is flaky: it passed and failed", command),
          note: t("unverified: flaky check"),
        };
      if (leftovers.length > 0)
        return {
          ...ORANGE,
          word: t("done, but {0} passes only with ignored files of this session", command),
          note: t("unverified: needs ignored files"),
        };
      if (unread.length > 0 && unread.length === evidence.files.length && newErrors === 0)
        return {
          ...GREY,
          word: t("done, unverified: {0} read none of the files that it changed", command),
          note: t("unverified: not read"),
        };
      return { ...GREY, word: t("done, unverified: no test, build or linter ran on it"), note: t("unverified") };
    case "looked":
      return { ...GREY, word: t("done, only read files"), note: t("only read") };
    case "marked":
      return { ...GREEN, word: t("marked as done by you"), note: t("marked by you") };
    default:
      return { ...GREY, word: t("done, no evidence: nothing happened"), note: t("no evidence") };
  }
}

/** What broke a verification; empty if nothing is known about it. */
function brokenText(
  { maker, itemId, files, firstLine, lastLine }: BrokenBy,
  relative: (uri: string) => string,
): string {
  const [file, ...others] = files.map(relative);
  if (file === undefined) return "";
  const more = others.length > 0 ? t("{0} and {1}", file, countText(others.length, "file")) : file;
  const one =
    firstLine === lastLine ? t("{0}, line {1}", file, firstLine) : t("{0}, lines {1}-{2}", file, firstLine, lastLine);
  const place = firstLine > 0 ? one : more;
  switch (maker) {
    case "agent":
      return itemId === null
        ? t("broken by the agent's change of {0}", place)
        : t("broken by the agent's change of {0} in step {1}", place, itemId);
    case "user":
      return t("broken by your own edit in {0}", place);
    case "decision":
      return t("broken by your decision on {0}", place);
    case "unknown":
      return t("broken by a change of {0}", place);
  }
}

/** Returns at most two lines: the amount of evidence, and its cost. */
export function evidenceLines(evidence: Evidence): string[] {
  const { files, commands, calls, subagents, looks } = evidence;
  const counts = [
    files.length > 0 ? countText(files.length, "file") : "",
    commands.length > 0 ? countText(commands.length, "command") : "",
    calls.length > 0 ? countText(calls.length, "call") : "",
    subagents.length > 0 ? countText(subagents.length, "subagent") : "",
    looks > 0 ? countText(looks, "read") : "",
  ];
  return [counts.filter(Boolean).join(", "), costSummary(evidence)].filter(Boolean);
}

const checkText = (byUser: boolean, check: string): string =>
  byUser ? t("Check, set by you: {0}", check) : t("Check, set by the agent: {0}", check);
