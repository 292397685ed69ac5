/** A pattern that matches exactly this text, apart from blanks at its beginning and end. */
export function exactly(text) {
  return new RegExp(`^\\s*${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}\\s*$`);
}
