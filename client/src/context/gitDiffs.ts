// Diffs of several repositories as one. Pure.

const HEADS = /^(diff --git "?a\/)(.*?)( "?b\/)/gm;
const NAMES = /^(--- "?a\/|\+\+\+ "?b\/|(?:rename|copy) (?:from|to) "?|diff --(?:cc|combined) "?)/gm;

/** A diff of git in which each path begins with a folder. */
export function prefixPaths(folder: string, diff: string): string {
  const inserted = `${folder}/`.replaceAll("$", "$$$$");
  return diff.replace(HEADS, `$1${inserted}$2$3${inserted}`).replace(NAMES, `$1${inserted}`);
}
