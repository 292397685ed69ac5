// A conversation as Markdown, for a file. Pure.

import { t } from "@vscode/l10n";
import { replayed, type Entry } from "../../state/session";
import { fenced } from "../../ui/markdown";
import type { OpenedSession, ToolStarted } from "../../wire/protocol";

type Inputs = ReadonlyMap<string, ToolStarted["input"]>;

/** Returns the conversation as Markdown: the title, then each message and tool call in order. */
export function conversationMarkdown(title: string, opened: OpenedSession): string {
  const inputs: Inputs = new Map(
    opened.transcript.flatMap((item) => (item.kind === "tool_started" ? [[item.toolCallId, item.input]] : [])),
  );
  const parts = replayed(opened).entries.map((entry) => entryMarkdown(entry, inputs));
  return `${[`# ${title || t("New session")}`, ...parts.filter(Boolean)].join("\n\n")}\n`;
}

function entryMarkdown(entry: Entry, inputs: Inputs): string {
  switch (entry.kind) {
    case "prompt":
      return [`## ${t("You")}`, entry.text, ...(entry.pictures ?? []).map((name) => `*${name}*`)].join("\n\n");
    case "steered":
      return [`## ${t("You")}`, entry.text].join("\n\n");
    case "text":
      return [`## ${t("Agent")}`, entry.text].join("\n\n");
    case "step":
      return `### ${entry.content}`;
    case "context":
      return folded(t("Context"), entry.text);
    case "tool":
      return folded(
        `${entry.outcome === "error" || entry.failure ? "✗" : "✓"} ${firstLine(entry.title)}`,
        [entry.title.includes("\n") ? entry.title : "", entry.result].filter(Boolean).join("\n\n"),
        entry.isEdit && entry.outcome === "ok" ? diffOf(inputs.get(entry.id) ?? {}) : "",
      );
    case "end":
      return entry.record;
    default:
      return "";
  }
}

/** Returns the change that a call proposed as the lines of a diff, without line numbers; empty if it has no text. */
function diffOf({ old_text: old = "", new_text: now, content }: ToolStarted["input"]): string {
  const text = now ?? content;
  if (typeof old !== "string" || typeof text !== "string") return "";
  const [before, after] = [linesOf(old), linesOf(text)];
  const least = Math.min(before.length, after.length);
  let start = 0;
  while (start < least && before[start] === after[start]) start++;
  let end = 0;
  while (end < least - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  return [
    ...before.slice(0, start).map((line) => ` ${line}`),
    ...before.slice(start, before.length - end).map((line) => `-${line}`),
    ...after.slice(start, after.length - end).map((line) => `+${line}`),
    ...after.slice(after.length - end).map((line) => ` ${line}`),
  ].join("\n");
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|\r|\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** A part that a reader of the page opens. `diff` may be empty. */
function folded(summary: string, text: string, diff = ""): string {
  const shown = summary.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const parts = [...(diff === "" ? [] : [fenced(diff, "diff")]), fenced(text)];
  return `<details><summary>${shown}</summary>\n\n${parts.join("\n\n")}\n\n</details>`;
}

const firstLine = (text: string): string => text.split("\n", 1)[0]?.slice(0, 80) ?? "";

/** Returns a name for the file, without what file systems refuse. */
export function fileName(title: string): string {
  const name = title
    .replace(/[\s\\/:*?"<>|\p{C}]+/gu, " ")
    .trim()
    .replace(/^\.+|\.+$/g, "")
    .slice(0, 60)
    .trim();
  return name || "conversation";
}
