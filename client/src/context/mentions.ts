// Mentions in a task: `#selection`, `#problems`, `#changes`, `#terminal`, files and folders as `#src/a.ts` or
// `#"my file.ts"`, and resources of tool servers as `#server:uri`. An `@` means the same as the `#`. Pure.

import type { ServerOffer } from "../wire/protocolStates";

export const KEYWORDS = ["selection", "problems", "changes", "terminal"] as const;
export type Keyword = (typeof KEYWORDS)[number];

export type Mention =
  | { readonly kind: Keyword }
  /**
   * A file or folder in the workspace. The mention means the first of these paths that exists; if none does, it is
   * plain text.
   */
  | { readonly kind: "path"; readonly paths: readonly string[] }
  /** A resource of a tool server, given by its URI. The server may not have listed it. */
  | { readonly kind: "resource"; readonly server: string; readonly resource: string };

// not after a Latin letter (also one with combining marks), a digit or a sign that opens nothing, so that neither `C#`
// nor the fragment of a URL counts
const MENTION = /(?<!(?:(?![([{"'])[!-~]|\p{sc=Latin})\p{M}*)[#@](file:)?(?:"([^"\n]+)"|([^\s"#]+))/gu;
const UNFINISHED = /(?<!(?:(?![([{"'])[!-~]|\p{sc=Latin})\p{M}*)[#@](file:)?(?:"([^"\n]*)|([^\s"#]*))$/u;
const PUNCTUATION = /[.,;:!?)\]}'"]$/;
/**
 * Where a path may end in a text without spaces: between a name in Latin letters and another script, and before
 * punctuation that is not ASCII.
 */
const POSSIBLE_END = /(?<=[!-.0-~])(?=[^!-~])(?![\p{sc=Latin}\p{M}])|(?!^)(?=[^!-~])(?=\p{P})/gu;

/** The maximum length of a mentioned path that is not ASCII and not quoted. A longer one is a sentence without spaces. */
const MAX_LENGTH = 260;
/**
 * The maximum number of paths that a mention can mean, because each is looked up on disk. The shortest are kept: in a
 * long sentence without spaces, the path ends early.
 */
const MAX_PATHS = 20;

/** Returns the mentions in a text, in order and without duplicates. `offers` are those of the tool servers. */
export function mentionsIn(text: string, offers: readonly ServerOffer[]): Mention[] {
  const found = new Map<string, Mention>();
  for (const [, isFile, quoted, plain = ""] of text.matchAll(MENTION)) {
    const words = quoted === undefined ? possibleWords(plain) : [quoted];
    const keyword = (isFile ?? quoted) ? undefined : KEYWORDS.find((each) => words.includes(each));
    const maxLength = /[^!-~]/.test(plain) ? MAX_LENGTH : Infinity;
    const paths = words.map(cleanPath).filter((path) => path !== "" && path.length <= maxLength);
    const resource = isFile ? undefined : resourceIn(words, offers);
    const mention: Mention | undefined =
      resource ??
      (keyword ? { kind: keyword } : paths.length > 0 ? { kind: "path", paths: paths.slice(-MAX_PATHS) } : undefined);
    if (mention) found.set(JSON.stringify(mention), mention);
  }
  return [...found.values()];
}

/**
 * Returns the resource that words mean, the longest of which is first: one that the server has listed, or else the longest
 * one without punctuation at its end, which belongs to the sentence.
 */
function resourceIn(words: readonly string[], offers: readonly ServerOffer[]): Mention | undefined {
  const [offer] = offers
    .filter(({ server }) => words[0]?.startsWith(`${server}:`))
    .sort((a, b) => b.server.length - a.server.length);
  if (!offer) return undefined;
  const { server, resources } = offer;
  const uris = words.map((word) => word.slice(server.length + 1)).filter((uri) => uri !== "");
  const listed = uris.find((each) => resources.some(({ uri }) => uri === each));
  const resource = listed ?? uris.find((uri) => !PUNCTUATION.test(uri));
  return resource === undefined ? undefined : { kind: "resource", server, resource };
}

/**
 * Returns the word, and the shorter words at its beginning, because its end may belong to the sentence: punctuation,
 * and what follows the mention in a language without spaces. The longest is first.
 */
function possibleWords(word: string): string[] {
  const ends = [word.length, ...[...word.matchAll(POSSIBLE_END)].map(({ index }) => index).reverse()];
  return [...new Set(ends.flatMap((end) => withAndWithoutPunctuation(word.slice(0, end))))];
}

function withAndWithoutPunctuation(word: string): string[] {
  const words = [word];
  while (PUNCTUATION.test(word)) words.push((word = word.slice(0, -1)));
  return words;
}

/**
 * Removes `./` at the start of a path and `/` at its end, and makes each `\` a `/`. Returns an empty text for an
 * absolute path and for one with `..`, which may leave the workspace.
 */
function cleanPath(path: string): string {
  const parts = path
    .replaceAll("\\", "/")
    .split("/")
    .filter((part) => part !== "" && part !== ".");
  return path.startsWith("/") || parts.includes("..") ? "" : parts.join("/");
}

/** A mention that the user is typing at the end of a text. */
export interface Unfinished {
  /** The position of its `#` or `@`. */
  readonly start: number;
  /** What follows that sign, without `file:` and the quotation mark. */
  readonly typed: string;
  /** Whether it can only be a file or folder, not a keyword. */
  readonly isFile: boolean;
}

/** Returns the mention at the end of the text, if there is one. A number names an issue, so it is not a mention. */
export function unfinishedMention(text: string): Unfinished | undefined {
  const found = UNFINISHED.exec(text);
  if (!found) return undefined;
  const [, isFile, quoted, plain] = found;
  const typed = quoted ?? plain ?? "";
  if (/^\d+$/.test(typed)) return undefined;
  return { start: found.index, typed, isFile: isFile !== undefined || quoted !== undefined };
}

/** Returns the URIs in a list (`text/uri-list`, RFC 2483). */
export function urisIn(list: string): string[] {
  return list.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"));
}

/** Returns the mention of a file or folder, in quotation marks if the plain path could be parsed differently. */
export function pathMention(path: string): string {
  const isKeyword = (KEYWORDS as readonly string[]).includes(path);
  const isPlain = /^[^\s"#]*[^\s"#.,;:!?)\]}']$/.test(path) && !path.startsWith("file:") && !isKeyword;
  return isPlain ? `#${path}` : `#"${path}"`;
}
