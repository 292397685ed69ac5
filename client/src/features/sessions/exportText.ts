// A conversation as Markdown, for a file. Pure.

import { t } from "@vscode/l10n";
import type { Entry } from "../../state/session";
import { fenced } from "../../ui/markdown";

/** Returns the conversation as Markdown: the title, then each message and tool call in order. */
export function conversationMarkdown(title: string, entries: readonly Entry[]): string {
  return `${[`# ${title || t("New session")}`, ...entries.map(entryMarkdown).filter(Boolean)].join("\n\n")}\n`;
}

function entryMarkdown(entry: Entry): string {
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
      );
    case "end":
      return entry.record;
    default:
      return "";
  }
}

/** A part that a reader of the page opens. */
function folded(summary: string, text: string): string {
  const shown = summary.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  return `<details><summary>${shown}</summary>\n\n${fenced(text)}\n\n</details>`;
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
