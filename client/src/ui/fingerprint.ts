// Comparison of large data that shares objects. Pure.

/**
 * A string that is equal for equal data, and the objects in the data. Objects in one of the `known` sets are left out, because
 * many rows refer to the file of the row above them.
 */
export function fingerprint(
  data: unknown,
  known: readonly ReadonlySet<unknown>[] = [],
): { text: string; objects: Set<unknown> } {
  const objects = new Set<unknown>();
  const text = JSON.stringify(data, (_, value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    if (known.some((each) => each.has(value))) return null;
    objects.add(value);
    return value;
  });
  return { text, objects };
}
