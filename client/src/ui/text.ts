// Conversions of text: to the form that VS Code uses, and to short summaries.

import { t } from "@vscode/l10n";
import { countText } from "./format";
import { lexer, type Token, type Tokens } from "marked";

/** A message from the server for a notification or a view: without backticks. */
export const plainMessage = (message: string): string => message.replaceAll("`", "");

/**
 * A command's output as plain text: without colors, and with only the last state of a line that was overwritten with
 * `\r`.
 */
export function plainOutput(text: string): string {
  // eslint-disable-next-line no-control-regex -- the server lets no other sequence through
  const uncolored = text.replace(/\x1b\[[0-9;:]*m/g, "");
  return uncolored.split("\n").map(lastState).join("\n");
}

function lastState(line: string): string {
  let end = line.length;
  while (line[end - 1] === "\r") end--;
  return line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
}

/**
 * Removes the byte order mark and makes all line endings `\n`, because VS Code stores the mark and the line ending
 * apart from the text.
 */
export function normalizedText(text: string): string {
  return text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
}

/** Whether all lines have the same ending, `\n` or `\r\n`, so that VS Code can preserve it. */
export function hasUniformLineEndings(text: string): boolean {
  const kinds = new Set(text.match(/\r\n|\r|\n/g));
  return kinds.size <= 1 && !kinds.has("\r");
}

/** Lists failed files by reason, such as `a.py and b.py: Not found.` Names at most three files for each reason. */
export function failureSummary(failed: readonly { readonly name: string; readonly message: string }[]): string {
  const byMessage = new Map<string, Set<string>>();
  for (const { name, message } of failed) byMessage.set(message, (byMessage.get(message) ?? new Set()).add(name));
  return [...byMessage].map(([message, names]) => `${listNames([...names])}: ${message}`).join(" ");
}

/**
 * Says how many files were accepted, and which were not, by reason. Of a reason, only the first sentence is shown; the
 * row of a file has all of it.
 */
export function acceptSummary(
  accepted: number,
  failed: readonly { readonly name: string; readonly message: string }[],
): string {
  const byReason = new Map<string, Set<string>>();
  for (const { name, message } of failed) {
    const reason = firstSentence(message);
    byReason.set(reason, (byReason.get(reason) ?? new Set()).add(name));
  }
  const reasons = [...byReason].map(([reason, names]) =>
    [...names].every((name) => reason.includes(name)) ? reason : `${listNames([...names])} (${reason})`,
  );
  const count = new Set(failed.map(({ name }) => name)).size;
  return accepted > 0
    ? t("{0} accepted, {1} not: {2}", countText(accepted, "file"), count, reasons.join(", "))
    : t("{0} not accepted: {1}", countText(count, "file"), reasons.join(", "));
}

const firstSentence = (message: string): string => (/^.*?(?=\.(\s|$)|。|$)/.exec(message) ?? [message])[0];

function listNames(names: readonly string[], limit = 3): string {
  const shown =
    names.length > limit ? [...names.slice(0, limit - 1), t("{0} other files", names.length - limit + 1)] : names;
  return shown.length < 2 ? shown.join() : t("{0} and {1}", shown.slice(0, -1).join(", "), shown.at(-1) ?? "");
}

/** The words with an upper-case first letter. */
export const capitalized = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/**
 * The first block of a Markdown text as one line of plain text, without code blocks. A heading counts only if there is
 * nothing else. A text longer than `limit` characters is cut at the last space within the limit, or at the limit if
 * there is none, and ends with `…`.
 */
export function plainSummary(markdown: string, limit = 160): string {
  const blocks = lexer(withoutDeepNesting(markdown.slice(0, 100 * limit))).filter(
    ({ type }) => !SKIPPED_BLOCKS.has(type),
  );
  const first = blocks.find(({ type }) => type !== "heading") ?? blocks[0];
  const words = first ? plainWords(first).replace(/\s+/g, " ").trim() : "";
  if (words.length <= limit) return words;
  const cut = words.slice(0, limit).replace(/\s+\S*$/, "");
  return `${cut.replace(/[\s,;:.–—-]+$/, "")}…`;
}

/** A Markdown text as one line of plain text. A very long text stays as it is, because parsing it would take too long. */
export function plainLine(markdown: string): string {
  const words =
    markdown.length > MOST_PARSED ? markdown : lexer(withoutDeepNesting(markdown)).map(plainWords).join(" ");
  return words.replace(/\s+/g, " ").trim();
}

/** In characters. */
const MOST_PARSED = 10_000;

/** The first 20 nested quotes and lists at the start of a line. A text with more of them could exhaust the parser. */
const DEEP = /^([ \t]*(?:(?:>|(?:[*+-]|\d{1,9}[.)])(?=[ \t]))[ \t]*){20})/gm;

/** Markdown with a backslash after 20 nested quotes and lists, so that the next character begins no further one. */
export const withoutDeepNesting = (markdown: string): string => markdown.replace(DEEP, "$1\\");

const SKIPPED_BLOCKS = new Set(["space", "code", "hr"]);
const BLOCKS_WITH_BLOCKS = new Set<string | undefined>(["list", "list_item", "blockquote"]);

function plainWords(token: Token): string {
  const { type, tokens, items, text, raw } = token as Partial<Tokens.Generic> & {
    raw: string;
    items?: Token[];
    text?: string;
  };
  const inner = items ?? tokens;
  return inner ? inner.map(plainWords).join(BLOCKS_WITH_BLOCKS.has(type) ? " " : "") : (text ?? raw);
}
