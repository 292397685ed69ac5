// Text for people: nothing in it hides.

/** The text with control and direction characters written as escapes, so that what is shown is what runs. */
export function visible(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}
