// Whether data is the same as before, when it may be large and hang together. Pure.

/** A text that is the same for the same data. An object that occurs again stands there as a number: many rows know of one file. */
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
