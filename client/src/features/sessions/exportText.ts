// A conversation as Markdown, for a file. Pure.

import { t } from "@vscode/l10n";
import type { Line, OpenedSession } from "../../wire/protocol";
import { fenced } from "../../ui/markdown";

/** Returns the conversation as Markdown: the title, then each message and tool call in order. */
export function conversationMarkdown(title: string, { transcript }: Pick<OpenedSession, "transcript">): string {
  return `${[`# ${title || t("New session")}`, ...transcript.map(lineMarkdown)].join("\n\n")}\n`;
}

function lineMarkdown({ role, text, tool, failed, result, pictures }: Line): string {
  switch (role) {
    case "user":
      return [`## ${t("You")}`, text, ...pictures.map((name) => `*${name}*`)].join("\n\n");
    case "assistant":
      return [`## ${t("Agent")}`, text].join("\n\n");
    case "context":
      return folded(t("Context"), text);
    case "tool":
      return folded(
        `${failed ? "✗" : "✓"} ${tool} ${firstLine(text)}`.trim(),
        [text, result].filter(Boolean).join("\n\n"),
      );
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
