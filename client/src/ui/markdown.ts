// Makes Markdown from the server safe to show in VS Code's preview. Parts of it were written by the model. Pure.
//
// HTML is shown as text, and images are not fetched (docs/faults.md 41).

import { visibleText } from "./shownText";

/** Returns the text as a code block. Its fence is longer than any run of backticks in the text. */
export function fenced(text: string, language = ""): string {
  const ticks = "`".repeat(Math.max(3, longestBacktickRun(text) + 1));
  return `${ticks}${language}\n${text}\n${ticks}`;
}

const longestBacktickRun = (text: string): number =>
  Math.max(0, ...[...text.matchAll(/`+/g)].map((run) => run[0].length));

/**
 * Returns the Markdown with its HTML as plain text and its images as links. Code between backticks is escaped like
 * other text.
 *
 * The content of a fenced code block stays as it is, but the block gets a new fence that its content cannot close, so
 * that the renderer agrees with this function about what is code.
 */
export function safeMarkdown(text: string): string {
  const parts: string[] = [];
  let plain: string[] = [];
  const flush = (): void => {
    if (plain.length > 0) parts.push(withoutHtml(plain.join("\n")));
    plain = [];
  };
  const lines = visibleText(text).split("\n");
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    // any words may follow the fence
    const opening = /^ {0,3}(?:(`{3,})([^`]*)|(~{3,})(.*))$/.exec(line);
    const fence = opening?.[1] ?? opening?.[3];
    if (fence === undefined) {
      plain.push(line);
      continue;
    }
    flush();
    const end = new RegExp(`^ {0,3}${fence.charAt(0)}{${fence.length},}\\s*$`);
    const body: string[] = [];
    for (index++; index < lines.length && !end.test(lines[index] ?? ""); index++) body.push(lines[index] ?? "");
    const language = /^\s*([\w+#.-]*)/.exec(opening?.[2] ?? opening?.[4] ?? "")?.[1];
    parts.push(`\n${fenced(body.join("\n"), language)}\n`);
  }
  flush();
  return parts.join("\n").trim();
}

function withoutHtml(text: string): string {
  // an entity could encode a bracket, so ampersands are escaped too; a zero-width space breaks the image syntax
  return text
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/!(?=\[)/g, "!\u200b");
}
