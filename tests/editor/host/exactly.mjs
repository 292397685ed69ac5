/** A pattern of the whole text and nothing else, for elements whose text begins or ends with blanks. */
export function exactly(text) {
  return new RegExp(`^\\s*${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}\\s*$`);
}
