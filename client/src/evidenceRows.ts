// What stands behind a step, as rows below it: the files that it changed and the commands that it ran. Pure.

import { duration } from "./figures";
import type { PlanRow } from "./planRows";
import type { EvidenceCommand } from "./protocol";
import { visible } from "./text";

/** `toReview` says whether changes of this step in the file wait for a decision. */
export function fileRow(parent: string, uri: string, path: string, toReview: boolean): PlanRow {
  const folders = path.split("/");
  const label = folders.pop() ?? path;
  return {
    id: `${parent} file ${uri}`,
    label,
    description: [folders.join("/"), toReview ? "to review" : ""].filter(Boolean).join(" · "),
    tooltip: `${path}\n${toReview ? "Changed by this step; to be reviewed." : "Changed by this step."}`,
    icon: "file",
    color: undefined,
    spoken: `${path}, changed${toReview ? ", to be reviewed" : ""}`,
  };
}

export function commandRow(parent: string, { command, exitCode, seconds }: EvidenceCommand, index: number): PlanRow {
  const shown = visible(command);
  const end = exitCode === null ? "killed" : `exit ${exitCode}`;
  const took = seconds < 0.1 ? "" : duration(seconds);
  return {
    id: `${parent} command ${index}`,
    label: shown.replace(/\s+/g, " "),
    description: [end, took].filter(Boolean).join(" · "),
    tooltip: [shown, [end, took].filter(Boolean).join(", ")].join("\n"),
    icon: exitCode === 0 ? "check" : "error",
    color: exitCode === 0 ? "charts.green" : "charts.red",
    spoken: `${shown}, ${exitCode === 0 ? "succeeded" : exitCode === null ? "was killed" : `failed with exit code ${exitCode}`}`,
  };
}
