// How a proposed change looks in the user's file: the new lines as the body of a comment thread, and the words that it
// removes. Pure.

import { fenced } from "../../ui/markdown";
import { visibleText } from "../../ui/shownText";
import { comparedWords, type Part } from "../../ui/wordDiff";

/** A part of a removed line, in characters from 0. */
export interface RemovedWords {
  /** Of the removed lines, from 0. */
  readonly line: number;
  readonly start: number;
  readonly end: number;
}

export interface InlineText {
  /** Markdown with HTML. */
  readonly body: string;
  readonly removedWords: readonly RemovedWords[];
}

/** The width of a row, in characters, so that short lines look like lines of an editor. */
const MIN_WIDTH = 72;
/** How many rows a line can have. Of a longer one, the rows around its first change are shown. */
const MOST_ROWS = 6;
/** How far from its end, in characters, a row may end at a space. */
const SEARCHED = 30;

/**
 * Returns how a change looks. `tabSize` is the width of a tab of the editor, `wrapAt` the most characters of a row.
 * `problems` are messages about the new lines.
 */
export function inlineText(
  removed: readonly string[],
  added: readonly string[],
  tabSize: number,
  wrapAt = 120,
  problems: readonly string[] = [],
): InlineText {
  const [before, after] = comparedWords(removed, added);
  const removedWords = before.flatMap((parts, line) => changedRanges(parts, line));
  const rows = after.flatMap((parts) => {
    const shown = parts.map((part) => ({ ...part, text: expandTabs(visibleText(part.text), tabSize) }));
    return wrapped(excerpt(shown, wrapAt), wrapAt).map((row, index) => ({ mark: index === 0 ? "+ " : "  ", row }));
  });
  const width = Math.max(MIN_WIDTH, ...rows.map(({ row }) => lengthOf(row) + 2));
  const lines = [
    ...rows.map(({ mark, row }) => rowOf(mark, row, width)),
    ...problems.map((problem) => `✗ ${escapeHtml(visibleText(problem).replaceAll("\n", " "))}`),
  ];
  return { body: `<pre>${lines.join("\n")}</pre>`, removedWords };
}

/** Returns the new lines and messages about them as a code block, which screen readers read well. */
export const plainBody = (added: readonly string[], problems: readonly string[] = []): string =>
  [
    fenced(visibleText(added.map((line) => `+ ${line}`).join("\n")), "diff"),
    ...problems.map((each) => fenced(each)),
  ].join("\n\n");

/** Cuts a line that is too long for `MOST_ROWS` rows, so that its first change is in sight. */
function excerpt(parts: readonly Part[], wrapAt: number): readonly Part[] {
  const most = wrapAt * MOST_ROWS;
  const length = lengthOf(parts);
  if (length <= most) return parts;
  const changed = parts.findIndex(({ isChanged }) => isChanged);
  const from = Math.max(0, lengthOf(parts.slice(0, Math.max(0, changed))) - wrapAt);
  const omission = { text: "…", isChanged: false };
  const shown = slice(parts, from, from + most - 2);
  return [...(from > 0 ? [omission] : []), ...shown, ...(from + most - 2 < length ? [omission] : [])];
}

/** Breaks a line into rows, at spaces if there are any near their ends. */
function wrapped(parts: readonly Part[], wrapAt: number): (readonly Part[])[] {
  const text = parts.map((part) => part.text).join("");
  const rows: (readonly Part[])[] = [];
  let start = 0;
  while (text.length - start > wrapAt) {
    const space = text.lastIndexOf(" ", start + wrapAt - 1) + 1;
    const end = space > start + wrapAt - SEARCHED ? space : start + wrapAt;
    rows.push(slice(parts, start, end));
    start = end;
  }
  return [...rows, slice(parts, start, text.length)];
}

/** Returns the parts between two places of a line, in characters. */
function slice(parts: readonly Part[], from: number, to: number): Part[] {
  const found: Part[] = [];
  let start = 0;
  for (const part of parts) {
    const text = part.text.slice(Math.max(0, from - start), Math.max(0, to - start));
    if (text !== "") found.push({ ...part, text });
    start += part.text.length;
  }
  return found;
}

function changedRanges(parts: readonly Part[], line: number): RemovedWords[] {
  const ranges: RemovedWords[] = [];
  let start = 0;
  for (const { text, isChanged } of parts) {
    if (isChanged) ranges.push({ line, start, end: start + text.length });
    start += text.length;
  }
  return ranges;
}

const lengthOf = (parts: readonly Part[]): number => parts.reduce((sum, { text }) => sum + text.length, 0);

/** VS Code keeps a style only in exactly this form. */
const colored = (color: string, html: string): string =>
  `<span style="background-color:var(--vscode-diffEditor-${color});display:inline-block;">${html}</span>`;

function rowOf(mark: string, parts: readonly Part[], width: number): string {
  const html = parts.map(({ text, isChanged }) =>
    isChanged ? colored("insertedTextBackground", escapeHtml(text)) : escapeHtml(text),
  );
  const padding = " ".repeat(width - 2 - lengthOf(parts));
  return colored("insertedLineBackground", `${mark}${html.join("")}${padding}`);
}

const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** VS Code would show a tab of this text with a width of its own. */
const expandTabs = (text: string, tabSize: number): string => text.replaceAll("\t", " ".repeat(tabSize));
