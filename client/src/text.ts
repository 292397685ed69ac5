// Text for people: nothing in it hides. And texts as VS Code has them.

/** The text with control and direction characters written as escapes, so that what is shown is what runs. */
export function visible(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** A command's output as plain text: no colours, and of a line that starts anew its last state. */
export function plainOutput(text: string): string {
  // eslint-disable-next-line no-control-regex -- the server lets no other sequence through
  return text.replace(/\x1b\[[0-9;:]*m/g, "").replace(/^.*\r(?!\n|$)/gm, "");
}

/** The text without what VS Code keeps apart from it: byte order mark and kind of line ends. */
export function plainText(text: string): string {
  return text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
}

/** Whether all lines end alike, in a way that VS Code keeps. */
export function uniformLineEnds(text: string): boolean {
  const kinds = new Set(text.match(/\r\n|\r|\n/g));
  return kinds.size <= 1 && !kinds.has("\r");
}
