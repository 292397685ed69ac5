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
