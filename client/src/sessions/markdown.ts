// A session as a Markdown document: prompts, text, collapsed thinking, tool calls with their outcomes. Pure.
//
// Text from the model and its tools is untrusted: its HTML is not rendered and its images are not fetched (docs/faults.md 41).

import type { Entry, Session } from "../session";
import { plainOutput } from "../ui/text";

const END_TEXTS: Record<string, string> = {
  cancelled: "Stopped by you.",
  max_tokens: "Cut off by the output limit.",
  max_turn_requests: "Paused before the end.",
  budget: "Paused: the budget is used up.",
  loop: "Paused: the model repeated itself.",
  refusal: "The model refused.",
  error: "Ended with an error.",
  lost: "The agent's server stopped; the run was interrupted. Your files are unchanged.",
};
const RESULT_LINES = 12;

/** The whole document. `relative` converts a URI to a path for display. */
export function conversationMarkdown(session: Session, relative: (uri: string) => string): string {
  const replay = session.model.startsWith("replay")
    ? [
        `> **Replay.** A recorded conversation replaces the model: ${escapeInline(session.model.replace(/^replay \((.*)\)$/, "$1"))}.`,
      ]
    : [];
  const title = `# ${titleMarkdown(session.title || "Conversation")}`;
  const parts = session.entries.map((entry) => entryMarkdown(entry, relative));
  if (session.running) parts.push("*Working…*");
  return [title, ...replay, ...parts].filter((part) => part !== "").join("\n\n") + "\n";
}

function entryMarkdown(entry: Entry, relative: (uri: string) => string): string {
  switch (entry.kind) {
    case "prompt":
      return `---\n\n**You**\n\n${quote(safeMarkdown(entry.text))}`;
    case "steered":
      return `**You**, while it works\n\n${quote(safeMarkdown(entry.text))}`;
    case "text":
      return safeMarkdown(entry.text);
    case "thinking":
      return `<details><summary>Thinking</summary>\n\n${quote(safeMarkdown(entry.text))}\n\n</details>`;
    case "tool":
      return toolMarkdown(entry, relative);
    case "context":
      return contextMarkdown(entry);
    case "rules":
      return `*Rules:* ${entry.files.map(({ uri, cut }) => rulesLink(relative(uri), cut)).join(", ")}`;
    case "note":
      return `*${escapeInline(entry.text)}*`;
    case "end": {
      const stopped = END_TEXTS[entry.stopReason];
      const end = stopped === undefined ? "" : `**${stopped}** ${safeMarkdown(entry.message)}`;
      return [end, entry.record && `*${escapeInline(entry.record)}*`].filter(Boolean).join("\n\n");
    }
  }
}

/** What the model was told with a prompt: one line, and the whole text behind it. */
function contextMarkdown({ title, text }: Extract<Entry, { kind: "context" }>): string {
  const summary = title === "" ? "Context" : `Context: ${escapeHtml(title)}`;
  return `<details><summary>${summary}</summary>\n\n${fenced(text)}\n\n</details>`;
}

function rulesLink(path: string, cut: boolean): string {
  return `[${escapeInline(path)}](${linkTarget(path, null)})${cut ? " (only its beginning, because it is too long)" : ""}`;
}

function toolMarkdown(tool: Extract<Entry, { kind: "tool" }>, relative: (uri: string) => string): string {
  const mark = tool.failure === "" ? { running: "◌", ok: "✓", error: "✗" }[tool.outcome] : "✗";
  const place = tool.locations[0];
  const title = tool.name === "bash" ? codeSpan(firstLine(tool.title)) : escapeInline(tool.title);
  const link = place ? `[${title}](${linkTarget(relative(place.uri), place.line)})` : title;
  const head = [`${mark} ${link}`, tool.failure].filter(Boolean).join(" — ");
  const body = tool.outcome === "running" ? plainOutput(tool.output) : tool.result;
  if (tool.outcome === "error") return body.trim() ? `${head}\n\n${fenced(truncated(body))}` : head;
  if (tool.name === "todo") return `${head}\n\n${planLines(body)}`;
  if (tool.name === "bash") {
    const command = tool.title.includes("\n") ? `${fenced(tool.title)}\n\n` : "";
    return `${head}\n\n${command}${body.trim() ? fenced(truncated(body)) : ""}`;
  }
  const result = body.trim();
  if (result === "") return head;
  if (result.length < 100 && !result.includes("\n")) return `${head} — ${escapeInline(result)}`;
  return `${head}\n\n<details><summary>Result</summary>\n\n${fenced(truncated(body, 60))}\n\n</details>`;
}

function planLines(text: string): string {
  const lines = text.split("\n").filter((line) => /^\[[ x>]\]/.test(line));
  return lines
    .map(
      (line) => `- ${line.startsWith("[x]") ? "☑" : line.startsWith("[>]") ? "▸" : "☐"} ${escapeInline(line.slice(4))}`,
    )
    .join("\n");
}

/** VS Code's preview does not open `file:` links, and resolves absolute paths in the workspace's first folder. */
function linkTarget(path: string, line: number | null): string {
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  return `</${encoded}${line === null ? "" : `#L${line}`}>`;
}

function truncated(text: string, limit = RESULT_LINES): string {
  const lines = text.trimEnd().split("\n");
  if (lines.length <= limit) return lines.join("\n");
  const half = Math.floor(limit / 2);
  return [...lines.slice(0, half), `… ${lines.length - 2 * half} more lines …`, ...lines.slice(-half)].join("\n");
}

const firstLine = (text: string): string => text.split("\n", 1)[0] ?? "";
const quote = (text: string): string => text.replace(/^/gm, "> ");

/** The text in one line, with Markdown and HTML escaped. */
export function escapeInline(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[\\`*_[\]<>#|~!&$]/g, "\\$&");
}

/** A title in one line. Names between backticks are code, as in the prompt below it; everything else is escaped. */
function titleMarkdown(title: string): string {
  const parts = title.replace(/\s+/g, " ").split(/`([^`]+)`/);
  return parts.map((part, index) => (index % 2 === 1 ? codeSpan(part) : escapeInline(part))).join("");
}

function codeSpan(text: string): string {
  const ticks = "`".repeat(longestBacktickRun(text) + 1);
  return `${ticks} ${text} ${ticks}`;
}

/** A code block whose fence is longer than any in the text. */
export function fenced(text: string, language = ""): string {
  const ticks = "`".repeat(Math.max(3, longestBacktickRun(text) + 1));
  return `${ticks}${language}\n${text}\n${ticks}`;
}

const longestBacktickRun = (text: string): number =>
  Math.max(0, ...[...text.matchAll(/`+/g)].map((run) => run[0].length));

/**
 * The model's Markdown without HTML and images, except in code blocks.
 *
 * Code blocks are extracted line by line and get a new fence, so that the renderer agrees with this function about what is code.
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

/** The text in one line, for use within an HTML element, in which Markdown is not rendered. */
function escapeHtml(text: string): string {
  return text.replace(/\s+/g, " ").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function withoutHtml(text: string): string {
  // an entity could encode a bracket, so ampersands are escaped too; a zero-width space breaks the image syntax
  return text
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/!(?=\[)/g, "!\u200b");
}
