import assert from "node:assert/strict";
import { test } from "node:test";
import { conversationMarkdown, fileName } from "../src/features/sessions/exportText";
import type { OpenedSession } from "../src/wire/protocol";
import { golden } from "./goldens";

type TranscriptItem = OpenedSession["transcript"][number];

const opened = golden<OpenedSession>("sessions.open.result").result;
const exported = (title: string, change: (item: TranscriptItem) => TranscriptItem = (item) => item): string => {
  assert.ok(opened);
  return conversationMarkdown(title, { ...opened, transcript: opened.transcript.map(change) });
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
  const text = exported("", (item) => {
    if (item.kind === "tool_started")
      return { ...item, titleText: { prefix: "x</summary>", template: "", arguments: [] } };
    return item.kind === "tool_finished" ? { ...item, text: "```\n</details>\n# Agent" } : item;
  });
  assert.match(text, /<summary>✗ x&lt;\/summary><\/summary>\n\n````\n```\n<\/details>\n# Agent\n````\n\n<\/details>/);
});

test("an edit in an exported conversation has its diff", () => {
  const diffs = (input: Record<string, unknown>): string[] => {
    const text = exported("", (item) => {
      if (item.kind === "tool_started") return { ...item, toolKind: "edit", input };
      return item.kind === "tool_finished" ? { ...item, isError: false, text: "Proposed." } : item;
    });
    return [...text.matchAll(/```diff\n([^]*?)\n```\n\n```\nProposed\./g)].map(([, diff = ""]) => diff);
  };
  assert.deepEqual(diffs({ path: "a.py", old_text: "a\nb\nc\n", new_text: "a\nB\nB\nc\n" }), [" a\n-b\n+B\n+B\n c"]);
  assert.deepEqual(diffs({ path: "a.py", content: "new\n" }), ["+new"]);
  assert.deepEqual(diffs({ path: "a.py", new_name: "b" }), []);
});

test("the name of the file is the title, without what file systems refuse", () => {
  assert.deepEqual(["Fix a/b: “c”?", "..", "  ", "x".repeat(90)].map(fileName), [
    "Fix a b “c”",
    "conversation",
    "conversation",
    "x".repeat(60),
  ]);
});
