import assert from "node:assert/strict";
import { test } from "node:test";
import { conversationMarkdown, fenced, safeMarkdown } from "../src/sessions/markdown";
import type { AgentEvent, CommandEnded, CommandStarted, Edits, Plan } from "../src/protocol";
import { transcriptEntry } from "../src/session";
import { Store } from "../src/state";
import { pythonHelp } from "../src/server/pythonHelp";
import { escapeInvisible } from "../src/ui/text";
import { params } from "./goldens";

test("docs/faults.md 41: text from the model never produces HTML or an image", () => {
  const attacks = [
    "![x](https://example.com/x.png)",
    "![x][ref]\n\n[ref]: https://example.com/x.png",
    "<img src=https://example.com/x.png>",
    "&lt;img src=x&gt;",
    "```\nnot closed <img src=x>",
    "````\n```\n<img src=x>\n````\n<img src=y>",
    "~~~\n```\n~~~\n<img src=x>",
    "- a\n  ```\n<img src=x>\n  ```",
  ];
  for (const attack of attacks) {
    const outside = withoutFences(safeMarkdown(attack));
    assert.doesNotMatch(outside, /<|!\[|&(?!amp;|lt;)/, attack);
  }
});

/** What a Markdown renderer sees outside the code blocks: a fence is closed by one at least as long. */
function withoutFences(text: string): string {
  let fence = "";
  return text
    .split("\n")
    .filter((line) => {
      const ticks = /^(`{3,})[\w+#.-]*$/.exec(line)?.[1] ?? "";
      const inside = fence !== "" || ticks !== "";
      if (fence === "") fence = ticks;
      else if (ticks.length >= fence.length && line === ticks) fence = "";
      return !inside;
    })
    .join("\n");
}

test("code blocks are preserved", () => {
  const text = "Look:\n\n```python\nif a < b and c & d:\n    print('![x]')\n```\n\nDone.";
  assert.ok(safeMarkdown(text).includes("```python\nif a < b and c & d:\n    print('![x]')\n```"));
});

test("no text can end its code block", () => {
  assert.equal(fenced("a\n````\nb"), "`````\na\n````\nb\n`````");
});

test("the conversation shows the prompt, collapsed thinking, tools with outcome and link, and its end", () => {
  const store = new Store();
  const session = store.startRun("s", "Do *this*");
  let seq = 0;
  const send = (event: object): void => {
    store.addEvent({ sessionId: "s", seq: ++seq, ...event } as AgentEvent);
  };
  send({ kind: "run_started", model: "replay (x.yaml)" });
  send({ kind: "thinking", text: "Let me " });
  send({ kind: "thinking", text: "think." });
  send({ kind: "text", text: "I read it." });
  const locations = [{ uri: "file:///w/a b.py", line: 3 }];
  send({
    kind: "tool_started",
    toolCallId: "1",
    name: "read_file",
    title: "Read a b.py",
    toolKind: "read",
    input: {},
    locations,
  });
  send({ kind: "tool_finished", toolCallId: "1", isError: true, text: "Error: no such file" });
  store.endRun("s", 1, { stopReason: "cancelled", message: "Stopped.", record: "1 of 2 steps. Not done: B_c." });
  const text = conversationMarkdown(session, (uri) => decodeURIComponent(uri.replace("file:///w/", "")));
  for (const part of [
    "# Do \\*this\\*",
    "**Replay.**",
    "<details><summary>Thinking</summary>\n\n> Let me think.",
    "I read it.",
    "✗ [Read a b.py](</a%20b.py#L3>)",
    "```\nError: no such file\n```",
    "**Stopped by you.**",
    "*1 of 2 steps. Not done: B\\_c.*",
  ]) {
    assert.ok(text.includes(part), `${part}\n--- in ---\n${text}`);
  }
});

test("a paused run says so, followed by the server's reason", () => {
  const store = new Store();
  const session = store.startRun("s", "Go");
  store.addEvent({ sessionId: "s", seq: 1, kind: "run_started", model: "m" });
  store.endRun("s", 1, { stopReason: "max_turn_requests", message: "Paused: the API itself paused.", record: "" });
  const text = conversationMarkdown(session, (uri) => uri);
  assert.ok(text.endsWith("**Paused before the end.** Paused: the API itself paused.\n"), text);
});

test("invisible characters of a command are shown", () => {
  assert.equal(escapeInvisible("rm \u202e-rf\u0007 x\n\ty ü 🚀"), "rm \\u{202e}-rf\\u{7} x\n\ty ü 🚀");
});

test("the help page lists what was tried and how to get a Python on each system", () => {
  const page = pythonHelp([{ command: "python3", problem: "is Python 3.9, too old" }]);
  for (const part of ["3.11", "python3: is Python 3.9, too old", "Debian", "macOS", "Windows", "fairlead.python"])
    assert.ok(page.includes(part));
});

test("in the conversation a failed command has a cross and the reason; one that was stopped on purpose has neither", () => {
  const shown = (end: Partial<CommandEnded>): string => {
    const store = new Store();
    const session = store.startRun("s", "Task");
    const started = params<CommandStarted>("event.command");
    const call = { sessionId: session.id, toolCallId: started.toolCallId };
    store.addEvent({
      ...params<Extract<AgentEvent, { kind: "tool_started" }>>("event.tool_started"),
      ...call,
      name: "bash",
      title: "make",
      locations: [],
    });
    store.addEvent({ ...started, ...call });
    store.addEvent({ ...params<CommandEnded>("event.command_ended"), ...call, ...end });
    store.addEvent({
      ...params<Extract<AgentEvent, { kind: "tool_finished" }>>("event.tool_finished"),
      ...call,
      isError: false,
      text: "",
    });
    return (
      conversationMarkdown(session, (uri) => uri)
        .split("\n")
        .find((line) => line.includes("make")) ?? ""
    );
  };
  assert.match(shown({ ended: "exited", exitCode: 0 }), /^✓ .*make `$/);
  assert.match(shown({ ended: "exited", exitCode: 1 }), /^✗ .*make ` — exit code 1$/);
  assert.match(shown({ ended: "timeout", exitCode: null }), /^✗ .*timed out$/);
  assert.match(shown({ ended: "stopped", exitCode: null }), /^✓ .*make `$/);
});

test("a failed call has its cross also in the conversation of an earlier window", () => {
  const store = new Store();
  const { plan, edits } = { plan: params<Plan>("plan"), edits: params<Edits>("edits") };
  const transcript = [
    { role: "tool", text: "bash make", failed: true },
    { role: "tool", text: "read_file a", failed: false },
  ] as const;
  store.addTranscript({ sessionId: plan.sessionId, state: "idle", plan, edits, transcript });
  assert.ok(store.active);
  assert.match(
    conversationMarkdown(store.active, (uri) => uri),
    /✗ bash make\n\n✓ read\\_file a\n$/,
  );
});

test("the conversation shows what the agent was told about the editor, as text and not as Markdown", () => {
  const store = new Store();
  const session = store.startRun("s", "Task");
  const event = params<Extract<AgentEvent, { kind: "context" }>>("event.context");
  store.addEvent({ ...event, sessionId: session.id, title: "<b>a.py</b> & more\nlines", text: "```\n<b>x</b>" });
  const text = conversationMarkdown(session, (uri) => uri);
  assert.ok(text.includes("<summary>Context: &lt;b&gt;a.py&lt;/b&gt; &amp; more lines</summary>"));
  assert.ok(text.includes("````\n```\n<b>x</b>\n````"));
  assert.deepEqual(transcriptEntry({ role: "context", text: "x", failed: false }), {
    kind: "context",
    title: "",
    text: "x",
  });
});

test("a name between backticks is code in the heading, and everything else is escaped", () => {
  const heading = (title: string): string =>
    conversationMarkdown(new Store().startRun("s", title), (uri) => uri).split("\n", 1)[0] ?? "";
  assert.equal(heading("Explain `area` in a_b.ts"), "# Explain ` area ` in a\\_b.ts");
  assert.equal(heading("`<b>` and <b>, ` alone"), "# ` <b> ` and \\<b\\>, \\` alone");
});

test("the conversation names the project's rules that the agent got, once", () => {
  const store = new Store();
  const session = store.startRun("s", "Task");
  const rules = params<Extract<AgentEvent, { kind: "rules" }>>("event.rules");
  const feedback = params<Extract<AgentEvent, { kind: "feedback" }>>("event.feedback");
  store.addEvent({ ...rules, sessionId: session.id });
  store.addEvent({ ...feedback, sessionId: session.id, text: '<rules file="src/AGENTS.md">\nUse tabs.\n</rules>' });
  const text = conversationMarkdown(session, (uri) => uri.replace("file:///project/", ""));
  assert.match(
    text,
    /\*Rules:\* \[AGENTS\.md\]\(<\/AGENTS\.md>\), \[src\/AGENTS\.md\]\(.*\) \(only its beginning, because/,
  );
  assert.doesNotMatch(text, /told about your decisions/);
});
