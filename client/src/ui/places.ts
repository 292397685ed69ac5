// Finds places in the workspace that a text mentions, such as `src/app.py:10`. Pure.

export interface FoundPlace {
  readonly start: number;
  readonly end: number;
  readonly path: string;
  readonly line: number;
}

/** A path with a line, as compilers, linters and tests print it. Not an address such as `example.com:80`. */
const PATH_AND_LINE =
  /(?<![\w@/\\.:-])((?:\.?\/)?(?:@?[\w+-][\w.+-]*\/)*[\w+-][\w.+-]*\.([a-z]\w{0,9})):(\d{1,6})(?:[:-]\d+)?(?![\w/])/gi;
/** The form of Python's tracebacks. */
const PYTHON = /File "([^"\n]+)", line (\d{1,6})/g;
/** Endings of host names. A file with such a name is a link only in a folder. */
const HOSTS: ReadonlySet<string> = new Set(["com", "org", "net", "io", "dev", "local", "localhost", "internal"]);

/** Returns the places in the order of the text. */
export function placesIn(text: string): FoundPlace[] {
  const found: FoundPlace[] = [];
  for (const match of text.matchAll(PATH_AND_LINE)) {
    const [whole, path = "", ending = "", line] = match;
    if (path.includes("/") || !HOSTS.has(ending.toLowerCase()))
      found.push({ start: match.index, end: match.index + whole.length, path, line: Number(line) });
  }
  for (const match of text.matchAll(PYTHON)) {
    const [whole, path = "", line] = match;
    found.push({ start: match.index, end: match.index + whole.length, path, line: Number(line) });
  }
  return found.sort((one, other) => one.start - other.start);
}
