// How a proposed change looks in the user's file: the new lines as the body of a comment thread, and the words that it
// removes. Pure.

import { diffWordsWithSpace } from "diff";
import { fenced } from "../../ui/markdown";
import { visibleText } from "../../ui/shownText";

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

/** A part of a line, and whether the other side lacks it. */
interface Part {
  readonly text: string;
  readonly isChanged: boolean;
}

/** Changes with more characters are compared by line only, because a comparison by word would take long. */
const MAX_COMPARED = 10_000;
/** If less of the text than this is the same, marked words would only be confusing. */
const MIN_SAME = 0.5;
/** The width of a row, in characters, so that short lines look like lines of an editor. */
const MIN_WIDTH = 72;

/** Returns how a change looks. `tabSize` is the width of a tab of the editor. */
export function inlineText(removed: readonly string[], added: readonly string[], tabSize: number): InlineText {
  const [before, after] = comparedWords(removed, added);
  const removedWords = before.flatMap((parts, line) => changedRanges(parts, line));
  const rows = after.map((parts) =>
    parts.map((part) => ({ ...part, text: expandTabs(visibleText(part.text), tabSize) })),
  );
  const width = Math.max(MIN_WIDTH, ...rows.map((parts) => lengthOf(parts) + 2));
  return { body: `<pre>${rows.map((parts) => rowOf(parts, width)).join("\n")}</pre>`, removedWords };
}

/** Returns the new lines as a code block, which screen readers read well. */
export const plainBody = (added: readonly string[]): string =>
  fenced(visibleText(added.map((line) => `+ ${line}`).join("\n")), "diff");

/** Returns the lines of both sides in parts. */
function comparedWords(removed: readonly string[], added: readonly string[]): [Part[][], Part[][]] {
  const [before, after] = [removed.join("\n"), added.join("\n")];
  const whole = (lines: readonly string[]): Part[][] => lines.map((text) => [{ text, isChanged: false }]);
  if (removed.length === 0 || added.length === 0 || before.length + after.length > MAX_COMPARED)
    return [whole(removed), whole(added)];
  const parts = diffWordsWithSpace(before, after);
  const same = parts.filter((part) => !part.added && !part.removed).reduce((sum, { value }) => sum + value.length, 0);
  if (2 * same < MIN_SAME * (before.length + after.length)) return [whole(removed), whole(added)];
  return [
    inLines(parts.filter((part) => !part.added).map(({ value, removed: isChanged }) => ({ text: value, isChanged }))),
    inLines(parts.filter((part) => !part.removed).map(({ value, added: isChanged }) => ({ text: value, isChanged }))),
  ];
}

function inLines(parts: readonly Part[]): Part[][] {
  const lines: Part[][] = [[]];
  for (const { text, isChanged } of parts) {
    for (const [index, piece] of text.split("\n").entries()) {
      if (index > 0) lines.push([]);
      if (piece !== "") lines.at(-1)?.push({ text: piece, isChanged });
    }
  }
  return lines;
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

function rowOf(parts: readonly Part[], width: number): string {
  const html = parts.map(({ text, isChanged }) =>
    isChanged ? colored("insertedTextBackground", escapeHtml(text)) : escapeHtml(text),
  );
  const padding = " ".repeat(width - 2 - lengthOf(parts));
  return colored("insertedLineBackground", `+ ${html.join("")}${padding}`);
}

const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** VS Code would show a tab of this text with a width of its own. */
const expandTabs = (text: string, tabSize: number): string => text.replaceAll("\t", " ".repeat(tabSize));
