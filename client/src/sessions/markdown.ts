// Markdown from the server, whose texts are partly the model's, made safe for VS Code's own preview. Pure.
//
// HTML is shown as text, and images are not fetched (docs/faults.md 41).

/** Returns the text as a code block. Its fence is longer than each run of backticks in the text. */
export function fenced(text: string, language = ""): string {
  const ticks = "`".repeat(Math.max(3, longestBacktickRun(text) + 1));
  return `${ticks}${language}\n${text}\n${ticks}`;
}

const longestBacktickRun = (text: string): number =>
  Math.max(0, ...[...text.matchAll(/`+/g)].map((run) => run[0].length));

/**
 * Returns the Markdown with its HTML as plain text and its images as links. Fenced code blocks stay as they are; code
 * between backticks is escaped like other text.
 *
 * Fenced blocks are extracted line by line and get a new fence, so that the renderer agrees with this function about
 * what is code.
 */
export function safeMarkdown(text: string): string {
  const parts: string[] = [];
  let plain: string[] = [];
  const flush = (): void => {
    if (plain.length > 0) parts.push(withoutHtml(plain.join("\n")));
    plain = [];
  };
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    const opening = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)\s*$/.exec(line);
    if (!opening?.[1]) {
      plain.push(line);
      continue;
    }
    flush();
    const end = new RegExp(`^ {0,3}${opening[1][0] ?? ""}{${opening[1].length},}\\s*$`);
    const body: string[] = [];
    for (index++; index < lines.length && !end.test(lines[index] ?? ""); index++) body.push(lines[index] ?? "");
    parts.push(`\n${fenced(body.join("\n"), opening[2])}\n`);
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
