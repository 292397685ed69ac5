import assert from "node:assert/strict";
import { test } from "node:test";
import { conversationMarkdown, fileName } from "../src/features/sessions/exportText";
import type { OpenedSession } from "../src/wire/protocol";
import { golden } from "./goldens";

const opened = golden<OpenedSession>("sessions.open.result").result ?? { transcript: [] };

test("an exported conversation has the prompts, the answers, and the tool calls with their results", () => {
  const { transcript } = opened;
  assert.equal(
    conversationMarkdown("Greet", { transcript }),
    [
      "# Greet",
      "## You",
      "翻譯問候語 👋",
      "*圖.png*",
      "<details><summary>Context</summary>",
      "```\nThe user refers to:\n- src/問候.py\n```",
      "</details>",
      "<details><summary>✗ read_file src/問候.py</summary>",
      "```\nsrc/問候.py\n\nNo such file or folder: src/問候.py\n```",
      "</details>",
      "<details><summary>✓ todo</summary>",
      "```\n...\n```",
      "</details>",
      "## Agent",
      "It greets in Chinese now.\n",
    ].join("\n\n"),
  );
});

test("neither the output of a tool nor its name ends its part of an exported conversation", () => {
  const [line] = opened.transcript.filter(({ role }) => role === "tool");
  assert.ok(line);
  const hostile = { ...line, tool: "x</summary>", text: "", result: "```\n</details>\n# Agent" };
  const text = conversationMarkdown("", { transcript: [hostile] });
  assert.match(
    text,
    /<summary>✗ x&lt;\/summary><\/summary>\n\n````\n```\n<\/details>\n# Agent\n````\n\n<\/details>\n$/,
  );
});

test("the name of the file is the title, without what file systems refuse", () => {
  assert.deepEqual(["Fix a/b: “c”?", "..", "  ", "x".repeat(90)].map(fileName), [
    "Fix a b “c”",
    "conversation",
    "conversation",
    "x".repeat(60),
  ]);
});
