// The evidence of a step as rows below it: the files that it changed and the commands that it ran or is running. Pure.

import { t } from "@vscode/l10n";
import { countText, duration } from "../../ui/format";
import type { Appearance } from "../../ui/row";
import type { PlanRow } from "../../ui/stepRow";
import type { CommandStarted } from "../../wire/protocol";
import type { Diagnostic, EvidenceCall, EvidenceCommand, EvidenceSubagent } from "../../wire/protocolStates";
import { errorCount, problemLines } from "../../ui/problemTexts";

/**
 * Returns the row of a file that a step, or work outside of the plan, changed. `parent`: the id of the row above.
 * `toReview`: whether the step's changes to the file are undecided. `laterChanges`: texts that say what later changed
 * the step's part of the file.
 */
export function fileRow(
  parent: string,
  uri: string,
  path: string,
  toReview: boolean,
  laterChanges: readonly string[],
  problems: readonly Diagnostic[],
): PlanRow {
  const count = errorCount(problems.length);
  const folders = path.split("/");
  const label = folders.pop() ?? path;
  return {
    id: `${parent} file ${uri}`,
    label,
    description: [folders.join("/"), count, toReview ? t("to review") : "", ...laterChanges]
      .filter(Boolean)
      .join(" · "),
    tooltip: [
      path,
      toReview ? t("Changed by the agent; to be reviewed.") : t("Changed by the agent."),
      ...laterChanges.map((words) => t("Then {0}.", words)),
      ...problemLines(problems),
    ].join("\n"),
    icon: "file",
    color: undefined,
    screenReaderLabel: [t("{0}, changed", path), count, toReview ? t("to be reviewed") : "", ...laterChanges]
      .filter(Boolean)
      .join(", "),
  };
}

/**
 * The row of a command that has ended. `parent`: the id of the row above. `index`: the command's position below that
 * row, for the id.
 */
export function commandRow(
  parent: string,
  { command, exitCode, seconds, stopped, verifies, withoutChanges, withTests, reads }: EvidenceCommand,
  index: number,
): PlanRow {
  const ended = stopped ? t("stopped") : exitCode === null ? t("did not finish") : t("exit {0}", exitCode);
  const end = withTests
    ? t("without the change, with the new tests: {0}", ended)
    : withoutChanges
      ? t("without the change: {0}", ended)
      : ended;
  const took = seconds < 0.1 ? "" : duration(seconds);
  return {
    id: `${parent} command ${index}`,
    label: command,
    description: [end, took].filter(Boolean).join(" · "),
    tooltip: [command, [end, took].filter(Boolean).join(", "), verifies ? readsText(reads) : ""]
      .filter(Boolean)
      .join("\n"),
    icon: stopped ? "debug-stop" : exitCode === 0 ? "check" : "error",
    color: stopped ? "descriptionForeground" : exitCode === 0 ? "charts.green" : "charts.red",
    screenReaderLabel: spokenEnd(command, stopped, exitCode),
  };
}

/** What can make the result of a verification stale (docs/plan.md, P21). */
const readsText = (reads: number | null): string =>
  reads === null
    ? t("It is stale when any file has changed, because what it read is not known.")
    : t("It read {0} of the workspace, and is stale only when what it read has changed.", countText(reads, "file"));

function spokenEnd(command: string, stopped: boolean, exitCode: number | null): string {
  if (stopped) return t("{0}, was stopped", command);
  if (exitCode === 0) return t("{0}, succeeded", command);
  return exitCode === null ? t("{0}, did not finish", command) : t("{0}, failed with exit code {1}", command, exitCode);
}

/** The row of a call of a tool server. `parent` and `index` as in `commandRow`. */
export function callRow(
  parent: string,
  { server, tool, outcome, seconds, effectsOutside, arguments: given }: EvidenceCall,
  index: number,
): PlanRow {
  const label = `${server}: ${tool}`;
  const outside = effectsOutside ? t("effects outside") : "";
  const { icon, color, word } = OUTCOMES[outcome];
  const took = seconds < 0.1 ? "" : duration(seconds);
  return {
    id: `${parent} call ${index}`,
    label,
    description: [outside, word, took].filter(Boolean).join(" · "),
    tooltip: [
      label,
      given,
      [word, took].filter(Boolean).join(", "),
      effectsOutside ? t("It can have effects outside of the workspace, which nobody reviews.") : "",
    ]
      .filter(Boolean)
      .join("\n"),
    icon,
    color,
    screenReaderLabel: [label, outside, word].filter(Boolean).join(", "),
  };
}

/** The row of a subagent. `parent` as in `commandRow`. */
export function subagentRow(parent: string, { toolCallId, title, agent, state, tokens }: EvidenceSubagent): PlanRow {
  const { icon, color, word } = STATES[state];
  const used = tokens > 0 ? t("{0} tokens", tokens.toLocaleString("en")) : "";
  const who = agent === "" ? t("explorer") : agent;
  return {
    id: `${parent} subagent ${toolCallId}`,
    label: title,
    description: [who, word, used].filter(Boolean).join(" · "),
    tooltip: [t("Subagent ({0}): {1}", who, title), [word, used].filter(Boolean).join(", ")].join("\n"),
    icon,
    color,
    screenReaderLabel: [t("subagent {0}", title), word].join(", "),
  };
}

const STATES: Readonly<Record<EvidenceSubagent["state"], Appearance>> = {
  running: { icon: "loading~spin", color: "charts.blue", word: t("working") },
  done: { icon: "check", color: "charts.green", word: t("reported") },
  stopped: { icon: "debug-stop", color: "descriptionForeground", word: t("stopped") },
  failed: { icon: "error", color: "charts.red", word: t("did not finish") },
  interrupted: { icon: "warning", color: "charts.orange", word: t("interrupted") },
};

const OUTCOMES: Readonly<Record<EvidenceCall["outcome"], Appearance>> = {
  answered: { icon: "check", color: "charts.green", word: t("answered") },
  failed: { icon: "error", color: "charts.red", word: t("failed") },
  unknown: { icon: "question", color: "descriptionForeground", word: t("outcome unknown") },
};

/** The row of a running command. Shows the handle of a background command, which the agent uses too. */
export function runningRow({ command, handle: given, check, toolCallId }: CommandStarted): PlanRow {
  const handle = check ? null : given;
  return {
    id: `running ${toolCallId}`,
    label: handle === null ? command : `${handle}: ${command}`,
    description: t("running"),
    tooltip: handle === null ? command : `${command}\n${t("Runs in the background until it ends or is stopped.")}`,
    icon: "sync~spin",
    color: "charts.blue",
    screenReaderLabel:
      handle === null ? t("{0}, running", command) : t("{0}, running in the background as {1}", command, handle),
  };
}
