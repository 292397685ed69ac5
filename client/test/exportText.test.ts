import assert from "node:assert/strict";
import { test } from "node:test";
import { conversationMarkdown, fileName } from "../src/features/sessions/exportText";
import { replayed, type Entry } from "../src/state/session";
import type { OpenedSession } from "../src/wire/protocol";
import { golden } from "./goldens";

const opened = golden<OpenedSession>("sessions.open.result").result;
const exported = (title: string, change: (entry: Entry) => Entry = (entry) => entry): string => {
  assert.ok(opened);
  return conversationMarkdown(title, replayed(opened).entries.map(change));
};

test("an exported conversation has the prompts, the answers, and the tool calls with their results", () => {
  assert.equal(
    exported("Greet"),
    [
      "# Greet",
      "## You",
      "翻譯問候語 👋",
      "*圖.png*",
      "<details><summary>Context</summary>",
      "```\nThe user refers to:\n- src/問候.py\n```",
      "</details>",
      "<details><summary>✗ Read src/問候.py</summary>",
      "```\nNo such file or folder: src/問候.py\n```",
      "</details>",
      "## Agent",
      "It greets in Chinese now.",
      "1 of 2 steps.\n",
    ].join("\n\n"),
  );
});

test("neither the output of a tool nor its name ends its part of an exported conversation", () => {
  const text = exported("", (entry) =>
    entry.kind === "tool" ? { ...entry, title: "x</summary>", result: "```\n</details>\n# Agent" } : entry,
  );
  assert.match(text, /<summary>✗ x&lt;\/summary><\/summary>\n\n````\n```\n<\/details>\n# Agent\n````\n\n<\/details>/);
});

test("the name of the file is the title, without what file systems refuse", () => {
  assert.deepEqual(["Fix a/b: “c”?", "..", "  ", "x".repeat(90)].map(fileName), [
    "Fix a b “c”",
    "conversation",
    "conversation",
    "x".repeat(60),
  ]);
});
