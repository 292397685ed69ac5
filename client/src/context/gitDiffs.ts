// Changes the paths in Git diffs, so that the diffs of several repositories can be joined. Pure.

const HEADS = /^(diff --git "?a\/)(.*?)( "?b\/)/gm;
const NAMES = /^(--- "?a\/|\+\+\+ "?b\/|(?:rename|copy) (?:from|to) "?|diff --(?:cc|combined) "?)/gm;

/** Puts a folder before each path in a Git diff. */
export function prefixPaths(folder: string, diff: string): string {
  // in a replacement, `$$` means `$`
  const inserted = `${folder}/`.replaceAll("$", "$$$$");
  return diff.replace(HEADS, `$1${inserted}$2$3${inserted}`).replace(NAMES, `$1${inserted}`);
}
