// Finds entries of a conversation that the user wants to go to. Pure.

import type { Entry } from "../../state/session";

/** Whether the user wrote this entry. */
export const isMessage = (entry: Entry): entry is Extract<Entry, { kind: "prompt" | "steered" }> =>
  entry.kind === "prompt" || entry.kind === "steered";

/** Returns the index of the user's nearest message before (-1) or after (1) an index; undefined if there is none. */
export function messageFrom(entries: readonly Entry[], from: number, by: -1 | 1): number | undefined {
  for (let index = from + by; index >= 0 && index < entries.length; index += by) {
    const entry = entries[index];
    if (entry && isMessage(entry)) return index;
  }
  return undefined;
}
