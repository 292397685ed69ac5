// Whether the user has seen the current proposals, and whether a restored diff still has any. Pure.

import { isDecidedAsWhole } from "./changeNavigation";
import type { Edits, FileEdits } from "../../wire/protocolStates";
import type { Session } from "../../state/session";

/**
 * Whether the user has seen everything in `now`, if `shown` is what the user saw. `now` can contain less than `shown`,
 * because an accept in one session can remove proposals of another session. Hunks are compared by their ids, which are
 * derived from their content. If a file is decided as a whole, its hunks must all be the same as in `shown`. Binary
 * files cannot be compared, so they count as unseen.
 */
export function allWasShown(shown: Edits, now: Edits): boolean {
  const before = new Map(shown.files.map((file) => [file.uri, file]));
  return now.files.every((file) => {
    const seen = before.get(file.uri);
    return seen !== undefined && !file.binary && kindOf(seen) === kindOf(file) && sameHunks(seen, file);
  });
}

const kindOf = ({ kind, newUri, mode, binary }: FileEdits): string => JSON.stringify([kind, newUri, mode, binary]);

function sameHunks(seen: FileEdits, file: FileEdits): boolean {
  const ids = new Set(seen.hunks.map(({ id }) => id));
  return file.hunks.every(({ id }) => ids.has(id)) && (!isDecidedAsWhole(file) || file.hunks.length === ids.size);
}

/**
 * Whether a session has nothing left to review, after the sessions of an earlier window were loaded. `isSaved`: whether
 * the session is saved. If it is saved but not in the server's list, it could not be read. If the server of the earlier
 * window still has it open, its proposals come later.
 */
export function hasNoProposalsLeft(session: Session | undefined, isSaved: boolean): boolean {
  if (!session?.row) return !isSaved;
  return !session.row.openElsewhere && session.row.pendingFiles === 0 && (session.edits?.files.length ?? 0) === 0;
}
