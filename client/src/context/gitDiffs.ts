// Changes the names of the files in Git diffs. Git's names begin at the root of the repository. Pure.

/* eslint-disable no-restricted-syntax -- the patterns recognize what Git writes */

/**
 * Where the part of the next file begins. Every line of a hunk begins with another character. Not with the flag `m`,
 * because a line of a file may contain a `\r`, after which `^` would match.
 */
const NEXT_FILE = /(?<![^\n])(?=diff --(?:git|cc|combined) |\* Unmerged path )/;
const NAMED = /^(---|\+\+\+|(?:rename|copy) (?:from|to)|diff --(?:cc|combined)|\* Unmerged path) ([^\n]*)$/;
/** Both names of a file that is not renamed, as they are with `diff.noPrefix`. */
const SAME = /^([^\n]+) \1$/;
/** The same, where the names begin with `a/` and `b/`, or other letters (`diff.mnemonicPrefix`). May be quoted. */
const PREFIXED = /^("?)[^/\n]*\/([^\n]+) \1[^/\n]*\/\2$/;
const NO_FILE = "/dev/null";
const ESCAPES: Readonly<Record<string, string>> = { a: "\x07", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

/**
 * Gives each file in a Git diff the name that `nameOf` returns for its path in the repository. Leaves out the files
 * that are not `wanted`; a renamed file is wanted if one of its paths is.
 */
export function renameFiles(
  diff: string,
  nameOf: (path: string) => string,
  isWanted: (path: string) => boolean,
): string {
  return diff
    .split(NEXT_FILE)
    .map((part) => {
      const [header = ""] = part.split("\n@@", 1);
      const paths = pathsIn(header);
      if (!paths) return part;
      if (!paths.some(isWanted)) return "";
      const [before, after] = [nameOf(paths[0]), nameOf(paths[1])];
      const lines = header.split("\n").map((line) => renamedLine(line, before, after));
      return lines.join("\n") + part.slice(header.length);
    })
    .join("");
}

/** Returns the paths of a file before and after the change; undefined if the header does not tell. */
function pathsIn(header: string): readonly [string, string] | undefined {
  const from = /\n(?:rename|copy) from ([^\n]*)/.exec(header)?.[1];
  const to = /\n(?:rename|copy) to ([^\n]*)/.exec(header)?.[1];
  if (from !== undefined && to !== undefined) return [unquoted(from), unquoted(to)];
  const [first = ""] = header.split("\n", 1);
  const names = first.replace(/^diff --git /, "");
  const path = names === first ? NAMED.exec(first)?.[2] : (SAME.exec(names)?.[1] ?? prefixedPath(names));
  return path === undefined ? undefined : [unquoted(path), unquoted(path)];
}

function prefixedPath(names: string): string | undefined {
  const [, quote = "", path] = PREFIXED.exec(names) ?? [];
  return path === undefined ? undefined : quote + path;
}

/** Returns a line of a header with the new names of the file. */
function renamedLine(line: string, before: string, after: string): string {
  const [old, current] = [quoted(`a/${before}`), quoted(`b/${after}`)];
  if (line.startsWith("diff --git ")) return `diff --git ${old} ${current}`;
  if (/^Binary files .* and .* differ$/.test(line)) {
    const left = line.startsWith(`Binary files ${NO_FILE} and `) ? NO_FILE : old;
    const right = line.endsWith(` and ${NO_FILE} differ`) ? NO_FILE : current;
    return `Binary files ${left} and ${right} differ`;
  }
  const [, label, name] = NAMED.exec(line) ?? [];
  if (label === undefined || name === NO_FILE) return line;
  if (label === "---") return `--- ${old}`;
  if (label === "+++") return `+++ ${current}`;
  return `${label} ${quoted(label.endsWith(" from") ? before : after)}`;
}

/** Returns a name without Git's quotes and escapes. An octal escape is a byte of UTF-8. */
function unquoted(name: string): string {
  const [, inner] = /^"([^\n]*)"$/.exec(name) ?? [];
  if (inner === undefined) return name;
  const bytes = Buffer.from(inner)
    .toString("latin1")
    .replace(/\\([0-7]{3}|[^])/g, (_, code: string) =>
      code.length === 3 ? String.fromCharCode(parseInt(code, 8)) : (ESCAPES[code] ?? code),
    );
  return Buffer.from(bytes, "latin1").toString();
}

/** Returns a name in quotes if it contains characters that could be taken for something else. */
const quoted = (name: string): string => (/["\\\p{Cc}]/u.test(name) ? JSON.stringify(name) : name);
