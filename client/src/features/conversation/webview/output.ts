// Draws the growing output of a call. The extension sends only the last part of a long output.

/** In characters. A longer output does not grow while the user reads it. */
const MOST_DRAWN = 100_000;
/** In characters. The end of a text is the beginning of another one by chance if it is shorter. */
const LEAST_SHARED = 100;

/**
 * Changes the drawn text of an output to `text`, which usually continues it, so that a selection stays.
 *
 * If the user has scrolled up in the box, what is drawn stays at its position, and only the continuation is added. If
 * there is none, the output of a running command does not change until the user is at its end again.
 *
 * Returns how many characters before `text` are still drawn; undefined if nothing has changed.
 */
export function redrawOutput(box: HTMLElement, drawn: Text, text: string, isRunning: boolean): number | undefined {
  const continuation =
    continuationOf(drawn.data, text) ??
    // the last line may be a progress bar, which changes
    continuationOf(drawn.data.slice(0, drawn.data.lastIndexOf("\n") + 1), text);
  const { length, shared } = continuation ?? { length: 0, shared: 0 };
  // a box that shows its end has negative positions above the end
  const isReadAbove = box.scrollTop <= -1;
  const canGrow = continuation !== undefined && length + text.length - shared <= MOST_DRAWN;
  if (isReadAbove && isRunning && !canGrow) return undefined;
  if (length < drawn.length || shared < text.length)
    drawn.replaceData(length, drawn.length - length, text.slice(shared));
  if (!(isReadAbove && canGrow)) drawn.deleteData(0, length - shared);
  return drawn.length - text.length;
}

/** Returns the length of `before` and of its end with which `after` begins; undefined if `after` does not continue it. */
function continuationOf(before: string, after: string): { length: number; shared: number } | undefined {
  const shared = sharedLength(before, after);
  return shared >= Math.min(LEAST_SHARED, before.length) ? { length: before.length, shared } : undefined;
}

/** Returns the length of the longest end of `before` with which `after` begins (by Knuth, Morris and Pratt). */
export function sharedLength(before: string, after: string): number {
  // for each beginning of `after`, the length of the longest shorter beginning with which it ends
  const shorter = new Int32Array(after.length);
  const next = (length: number, unit: number): number => {
    while (length > 0 && after.charCodeAt(length) !== unit) length = shorter[length - 1] ?? 0;
    return after.charCodeAt(length) === unit ? length + 1 : 0;
  };
  for (let index = 1; index < after.length; index++)
    shorter[index] = next(shorter[index - 1] ?? 0, after.charCodeAt(index));
  let length = 0;
  for (let index = Math.max(0, before.length - after.length); index < before.length; index++)
    length = next(length, before.charCodeAt(index));
  return length;
}
