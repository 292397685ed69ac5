// The proposed changes of a call, as the conversation shows them below it.

import { t } from "@vscode/l10n";
import type { ChangeView } from "./messages";
import type { Session, ToolEntry } from "../../state/session";
import { visibleText } from "../../ui/shownText";
import { comparedWords } from "../../ui/wordDiff";
import type { FileEdits, Hunk } from "../../wire/protocolStates";
import type { DecideParams } from "../../wire/protocol";

/** What the conversation needs of the review. */
export interface Changes {
  /** Returns the two sides of the proposal for a file. */
  read(sessionId: string, file: FileEdits): Promise<readonly [base: string, proposed: string]>;
  decide(decision: "accept" | "reject", params: DecideParams): Promise<unknown>;
}

/** In lines. The rest of a longer change is in the diff. */
const MAX_LINES = 300;

/** Returns the proposals for the file that a call is about, or for the files that it changed. */
export function filesOfCall({ edits }: Session, { id, locations: [place] }: ToolEntry): readonly FileEdits[] {
  const isOfCall = (file: FileEdits): boolean =>
    place ? file.uri === place.uri || file.newUri === place.uri : hunksOf(file, id).length > 0;
  return edits?.files.filter(isOfCall) ?? [];
}

/**
 * Returns the undecided changes with lines of an entry's call. A change that is not within a file, such as a new file,
 * counts as one of the call, whoever else changed it. `relative` converts a URI to a path for display.
 */
export async function changeViews(
  session: Session,
  index: number,
  changes: Changes,
  relative: (uri: string) => string,
): Promise<ChangeView[]> {
  const entry = session.entries[index];
  if (entry?.kind !== "tool") return [];
  const found = filesOfCall(session, entry).map(async (file) => {
    const [base, proposed] = await changes.read(session.id, file);
    const [old, now] = [linesOf(base), linesOf(proposed)];
    // other changes than those within a file are decided as a whole
    const whole = { id: "", oldStart: 1, oldLines: old.length, newStart: 1, newLines: now.length, toolCallIds: [] };
    const hunks = file.kind === "modify" ? hunksOf(file, entry.id) : [whole];
    // the title of the call names its file
    const path = entry.locations.length > 0 ? "" : relative(file.newUri ?? file.uri);
    return hunks.map((hunk) => changeView(file.uri, path, hunk, entry.id, old, now));
  });
  return (await Promise.all(found)).flat();
}

const hunksOf = ({ hunks }: FileEdits, call: string): readonly Hunk[] =>
  hunks.filter(({ toolCallIds }) => toolCallIds.includes(call));

type Place = Pick<Hunk, "id" | "oldStart" | "oldLines" | "newStart" | "newLines" | "toolCallIds">;

function changeView(
  uri: string,
  path: string,
  { id, oldStart, oldLines, newStart, newLines, toolCallIds }: Place,
  call: string,
  old: readonly string[],
  now: readonly string[],
): ChangeView {
  const removed = old.slice(oldStart - 1, oldStart - 1 + oldLines).map(visibleText);
  const added = now.slice(newStart - 1, newStart - 1 + newLines).map(visibleText);
  const [before, after] = comparedWords(removed, added);
  const rows = [
    ...before.map((parts) => ({ mark: "-" as const, parts })),
    ...after.map((parts) => ({ mark: "+" as const, parts })),
  ];
  const line = t("Line {0}", newLines > 0 ? newStart : newStart + 1);
  return {
    uri,
    id,
    title: [path, line].filter(Boolean).join(" · "),
    isChangedLater: (toolCallIds.at(-1) ?? call) !== call,
    rows: rows.slice(0, MAX_LINES),
    omitted: Math.max(0, rows.length - MAX_LINES),
  };
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|\r|\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
