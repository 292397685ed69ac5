// How a text that is offered for sending again joins what the user has typed in the prompt. Pure.

/** Returns an offered text above what the user has typed, unless that is empty or the same. */
export function aboveTyped(offered: string, typed: string): string {
  const rest = typed.trim();
  return rest === "" || rest === offered.trim() ? offered : `${offered}\n\n${rest}`;
}
