// Finds entries of a conversation that the user wants to go to. Pure.

import { searchedText } from "./entryViews";
import type { Entry, Session } from "../../state/session";

/** How many texts the arrow keys recall. */
const MOST_RECALLED = 50;

/** Whether the user wrote this entry. */
export const isMessage = (entry: Entry): entry is Extract<Entry, { kind: "prompt" | "steered" }> =>
  entry.kind === "prompt" || entry.kind === "steered";

/** Returns the user's texts, newest first and each once: those of a session, then the earlier tasks. */
export function recallable(session: Session | undefined, tasks: readonly string[]): string[] {
  const texts = (session?.entries ?? []).filter(isMessage).map(({ text }) => text);
  return [...new Set([...texts.reverse(), ...tasks])].slice(0, MOST_RECALLED);
}

/** Returns the index of the user's nearest message before (-1) or after (1) an index; undefined if there is none. */
export function messageFrom(entries: readonly Entry[], from: number, by: -1 | 1): number | undefined {
  for (let index = from + by; index >= 0 && index < entries.length; index += by) {
    const entry = entries[index];
    if (entry && isMessage(entry)) return index;
  }
  return undefined;
}

/** Returns the indexes of the entries that contain a text, in any case. Ignores the marks of Markdown. */
export function entriesWith(entries: readonly Entry[], text: string): number[] {
  const wanted = text.toLowerCase();
  if (wanted === "") return [];
  return [...entries.keys()].filter((index) => {
    const entry = entries[index];
    const whole = entry ? searchedText(entry).toLowerCase() : "";
    return whole.includes(wanted) || whole.replace(/[*_`~]/g, "").includes(wanted);
  });
}
