// Text for people: nothing in it hides. And texts as VS Code has them.

/** The text with control and direction characters written as escapes, so that what is shown is what runs. */
export function escapeInvisible(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The text without links: VS Code makes a link of `[words](address)` in a message, and shows the words alone. */
export function withoutLinks(text: string): string {
  return text.replaceAll("](", "] (");
}

/** A command's output as plain text: no colours, and of a line that starts anew its last state. */
export function plainOutput(text: string): string {
  // eslint-disable-next-line no-control-regex -- the server lets no other sequence through
  return text.replace(/\x1b\[[0-9;:]*m/g, "").replace(/^.*\r(?!\n|$)/gm, "");
}

/** The text without what VS Code keeps apart from it: byte order mark and kind of line ends. */
export function normalizedText(text: string): string {
  return text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
}

/** Whether all lines end alike, in a way that VS Code keeps. */
export function hasUniformLineEndings(text: string): boolean {
  const kinds = new Set(text.match(/\r\n|\r|\n/g));
  return kinds.size <= 1 && !kinds.has("\r");
}

/** What went wrong with which files, each reason once. */
export function failureSummary(failed: readonly { readonly name: string; readonly message: string }[]): string {
  const byMessage = new Map<string, Set<string>>();
  for (const { name, message } of failed) byMessage.set(message, (byMessage.get(message) ?? new Set()).add(name));
  return [...byMessage].map(([message, names]) => `${listNames([...names])}: ${message}`).join(" ");
}

function listNames(names: readonly string[], limit = 3): string {
  const shown =
    names.length > limit ? [...names.slice(0, limit - 1), `${names.length - limit + 1} other files`] : names;
  return shown.length < 2 ? shown.join() : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1) ?? ""}`;
}

/** Markdown's marks inside a line, a code span first because nothing in it is a mark. */
const MARKS =
  /(`+)(.+?)\1(?!`)|!?\[([^\]]*)\]\([^)\s]*(?:\s"[^"]*")?\)|(?<!\*)(\*{1,3}|~~)(?=[^\s*])(.+?)(?<=[^\s*])\4(?!\*)|(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\6(?!\w)|\\([!-/:-@[-`{-~])/g;

/** What a Markdown text says first, as one line of plain words: a heading only where nothing else is there, and no code block. */
export function plainSummary(markdown: string, limit = 160): string {
  const text = markdown
    .replace(/^ {0,3}(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^ {0,3}\1|$(?![\s\S]))[^\n]*$/gm, "")
    .replace(/\r\n?/g, "\n");
  const blocks = text.split(/\n\s*\n|\n(?= {0,3}#{1,6}\s)|(?<=^ {0,3}#{1,6}\s[^\n]*)\n/m).map((block) => block.trim());
  const said = blocks.filter((block) => block !== "" && !/^(?:[-*_]\s*){3,}$/.test(block));
  const first = said.find((block) => !/^#{1,6}\s/.test(block)) ?? said[0] ?? "";
  const words = escapeInvisible(
    withoutMarks(first.slice(0, 20 * limit).replace(/^\s*(?:#{1,6}|>|[-*+]|\d+[.)])\s+/gm, ""))
      .replace(/\s+/g, " ")
      .trim(),
  );
  if (words.length <= limit) return words;
  const cut = words.slice(0, limit).replace(/\s+\S*$/, "");
  return `${cut.replace(/[\s,;:.–—-]+$/, "")}…`;
}

function withoutMarks(text: string): string {
  return text.replace(
    MARKS,
    (
      _,
      _ticks,
      code?: string,
      link?: string,
      _mark?: string,
      strong?: string,
      _under?: string,
      soft?: string,
      escaped?: string,
    ) => {
      const inner = link ?? strong ?? soft;
      return code?.trim() ?? escaped ?? withoutMarks(inner ?? "");
    },
  );
}
