// The proposed changes of a call, as the conversation shows them below it.

import { t } from "@vscode/l10n";
import type { ChangeView } from "./messages";
import type { Session } from "../../state/session";
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

/** Returns the proposal for the file that an entry is about, if there is one. */
export function fileOfEntry(session: Session, index: number): FileEdits | undefined {
  const entry = session.entries[index];
  const uri = entry?.kind === "tool" ? entry.locations[0]?.uri : undefined;
  return session.edits?.files.find((file) => uri !== undefined && (file.uri === uri || file.newUri === uri));
}

/**
 * Returns the undecided changes with lines of an entry's call. A change that is not within a file, such as a new file,
 * counts as one of the call, whoever else changed it.
 */
export async function changeViews(session: Session, index: number, changes: Changes): Promise<ChangeView[]> {
  const file = fileOfEntry(session, index);
  const entry = session.entries[index];
  if (!file || entry?.kind !== "tool") return [];
  const [base, proposed] = await changes.read(session.id, file);
  const [old, now] = [linesOf(base), linesOf(proposed)];
  const isWithin = file.kind === "modify";
  // other changes than those within a file are decided as a whole
  const whole = { id: "", oldStart: 1, oldLines: old.length, newStart: 1, newLines: now.length, toolCallIds: [] };
  const hunks = isWithin ? file.hunks.filter(({ toolCallIds }) => toolCallIds.includes(entry.id)) : [whole];
  return hunks.map((hunk) => changeView(hunk, entry.id, old, now));
}

type Place = Pick<Hunk, "id" | "oldStart" | "oldLines" | "newStart" | "newLines" | "toolCallIds">;

function changeView(
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
  return {
    id,
    title: t("Line {0}", newLines > 0 ? newStart : newStart + 1),
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
