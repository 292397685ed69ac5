// Joins a text that the user may send again with the text in the prompt. Pure.

/** Returns the offered text with the typed text below it. Leaves out a typed text that is blank or the same. */
export function aboveTyped(offered: string, typed: string): string {
  const rest = typed.trim();
  return rest === "" || rest === offered.trim() ? offered : `${offered}\n\n${rest}`;
}
