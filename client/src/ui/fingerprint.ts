// Comparison of large data that shares objects. Pure.

/**
 * Returns a string for comparing two states of data: the strings are equal if the values are equal and the same objects
 * are repeated at the same places. Writes a repeated object as a number, because many rows refer to the same file.
 */
export function fingerprint(data: unknown): string {
  const seen = new Map<unknown, number>();
  return JSON.stringify(data, (_, value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    const known = seen.get(value);
    if (known !== undefined) return known;
    seen.set(value, seen.size);
    return value;
  });
}
