import assert from "node:assert/strict";
import { test } from "node:test";
import { entryView, wholeText } from "../src/features/conversation/entryViews";
import type { EntryView } from "../src/features/conversation/messages";
import type { AgentEvent, CommandEnded, CommandStarted, OpenedSession } from "../src/wire/protocol";
import type { Plan, PlanItem, PlanUpdate } from "../src/wire/protocolStates";
import { replayed, type Session } from "../src/state/session";
import { progressText } from "../src/ui/sessionTexts";
import { Store } from "../src/state/store";
import { runError } from "./errors";
import { golden, params } from "./goldens";

const relative = (uri: string): string => decodeURIComponent(uri.replace("file:///project/", ""));
const viewsOf = (session: Session): EntryView[] => session.entries.map((each) => entryView(each, session, relative));
const whole = (text: string): { text: string; omitted: number } => ({ text, omitted: 0 });

/** A store with a running session, and a function that sends it events. */
function running(prompt = "Do *this*"): { store: Store; session: Session; send: (event: object) => void } {
  const store = new Store();
  const session = store.startRun("s", prompt);
  let seq = 0;
  const send = (event: object): void => {
    store.addEvent({ sessionId: "s", seq: ++seq, ...event } as AgentEvent);
  };
  return { store, session, send };
}

const call = (name: string, title: string): object => ({
  kind: "tool_started",
  toolCallId: "1",
  name,
  titleText: { prefix: title, template: "", arguments: [] },
  toolKind: "read",
  input: {},
  locations: [{ uri: "file:///project/a%20b.py", line: 3 }],
});
const result = (text: string, isError = false, planUpdate: PlanUpdate | null = null): object => ({
  kind: "tool_finished",
  toolCallId: "1",
  isError,
  text,
  planUpdate,
});

test("a message that is sent while an answer streams comes after it, also after a reload", () => {
  const { session, send } = running();
  const events = [
    { kind: "text", text: "```python\ndef f(x):" },
    { kind: "steered", text: "also for floats" },
    { kind: "text", text: " return x\n```\n" },
    { kind: "thinking", text: "Is that all?" },
    { kind: "steered", text: "and be quick" },
    { kind: "text", text: "That is **all**." },
    { kind: "feedback", about: "message", text: "" },
    { kind: "text", text: "Now for floats." },
  ];
  for (const event of events) send(event);
  const rows = session.entries.slice(1);
  assert.deepEqual(rows, [
    { kind: "text", text: "```python\ndef f(x): return x\n```\n" },
    { kind: "thinking", text: "Is that all?" },
    { kind: "text", text: "That is **all**." },
    { kind: "steered", text: "also for floats" },
    { kind: "steered", text: "and be quick" },
    { kind: "note", text: "Message delivered." },
    { kind: "text", text: "Now for floats." },
  ]);
  const saved = rows.map((row) => ("text" in row && row.kind !== "note" ? row : events[6]));
  const opened = { sessionId: "s", phase: "running", transcript: saved } as unknown as OpenedSession;
  assert.deepEqual(replayed(opened).entries, rows);
});

test("a question is plain text in the row of its call", () => {
  const { session, send } = running();
  send(call("ask_user", "Ask: Which **Python**?\n\nIt is in `.venv`."));
  const [, row] = viewsOf(session);
  assert.equal(row?.kind === "tool" && row.title, "Ask: Which Python? It is in .venv.");
});

test("the conversation has the prompt, the thinking, the answer, calls with their outcome and place, and the end", () => {
  const { store, session, send } = running();
  send({ kind: "thinking", text: "Let me " });
  send({ kind: "thinking", text: "think." });
  send({ kind: "text", text: "I read " });
  send({ kind: "text", text: "it." });
  send(call("read_file", "Read a b.py"));
  send(result("Error: no such file", true));
  store.endRun("s", 1, { stopReason: "cancelled", message: "Stopped.", record: "1 of 2 steps." });
  assert.deepEqual(viewsOf(session), [
    { kind: "prompt", body: whole("Do *this*"), note: "", pictures: [], canRewind: false },
    { kind: "thinking", body: whole("Let me think.") },
    { kind: "answer", body: whole("I read it.") },
    {
      kind: "tool",
      state: "failed",
      title: "Read a b.py",
      isCommand: false,
      place: { uri: "file:///project/a%20b.py", line: 3 },
      note: "",
      command: whole(""),
      body: whole("Error: no such file"),
      showsEnd: false,
      hasChanges: false,
      isSubagent: false,
    },
    { kind: "end", title: "Stopped by you.", body: whole(""), record: "1 of 2 steps." },
  ]);
});

test("the last answer of a run is not repeated at its end", () => {
  const { store, session, send } = running();
  send({ kind: "text", text: "Done." });
  store.endRun("s", 1, { stopReason: "end_turn", message: "Done.", record: "" });
  assert.deepEqual(viewsOf(session).at(-1), { kind: "end", title: "", body: whole(""), record: "" });
});

test("what ended a run that did not finish is said once", () => {
  for (const stopReason of ["budget", "max_turn_requests", "loop", "max_tokens", "refusal", "error", "lost"]) {
    const { store, session } = running();
    store.endRun("s", 1, { stopReason, message: "The reason.", record: "" });
    const view = viewsOf(session).at(-1);
    assert.ok(view?.kind === "end");
    assert.equal(view.title === "", ["budget", "max_turn_requests", "loop", "error"].includes(stopReason), stopReason);
    assert.deepEqual(view.body, whole("The reason."), stopReason);
  }
});

test("the record at the end of a later run says that it is about the session", () => {
  const { store, session } = running();
  store.endRun("s", 1, { stopReason: "end_turn", message: "", record: "1 file." });
  store.startRun("s", "And this");
  store.endRun("s", 2, { stopReason: "end_turn", message: "", record: "2 files." });
  const records = viewsOf(session).flatMap((view) => (view.kind === "end" ? [view.record] : []));
  assert.deepEqual(records, ["1 file.", "In this session: 2 files."]);
});

test("a refused call says why to the user, and what the model reads stays folded", () => {
  const { session, send } = running();
  send(call("todo", "Update the plan"));
  const template = "Refused, because you dropped “{0}”. The plan did not change.";
  send({ ...result("Error: Item 6: leave it out.", true), shown: { prefix: "", template, arguments: ["Tidy up"] } });
  const view = viewsOf(session).at(-1);
  assert.ok(view?.kind === "tool");
  assert.deepEqual(
    [view.state, view.note],
    ["refused", "Refused, because you dropped “Tidy up”. The plan did not change."],
  );
  assert.deepEqual(view.body, whole("Error: Item 6: leave it out."));
});

test("the reminders of a run are one row", () => {
  const { store, session, send } = running();
  for (const text of ["one", "two"]) {
    send({ kind: "reminder", about: "", text });
    send({ kind: "text", text: "Now." });
  }
  store.startRun("s", { continue: "paused" });
  send({ kind: "reminder", about: "", text: "three" });
  const shown = viewsOf(session).flatMap((view) => (view.kind === "context" ? [view.body.text] : []));
  assert.deepEqual(shown, ["two", "three"]);
});

const overloaded = runError("overloaded", { message: "Overloaded." });

test("failed requests are one line that counts, until something else happens", () => {
  const { store, session, send } = running();
  for (const attempt of [1, 2, 3]) send({ kind: "retry", attempt, delayMs: attempt * 1000, error: overloaded });
  send({ kind: "text", text: "Now." });
  send({ kind: "retry", attempt: 1, delayMs: 500, error: overloaded });
  const notes = (): unknown[] => viewsOf(session).map((view) => view.kind === "note" && view.text);
  assert.deepEqual(notes(), [false, "Overloaded. Attempt 3 failed.", false, "Overloaded."]);
  store.endRun("s", 1, { stopReason: "error", message: "Overloaded.", record: "", error: overloaded });
  assert.deepEqual(notes(), [false, "Overloaded. Attempt 3 failed.", false, false], "the end says why");
});

test("an entry that changes is replaced with a new object, so that only this entry is drawn again", () => {
  const { session, send } = running();
  send({ kind: "text", text: "a" });
  send(call("bash", "make"));
  const before = [...session.entries];
  send({ kind: "tool_output", toolCallId: "1", text: "out" });
  assert.deepEqual(
    session.entries.map((entry, index) => entry === before[index]),
    [true, true, false],
  );
});

test("while a command runs, the last part of its output is shown, however long its parts are", () => {
  const { session, send } = running();
  send(call("bash", "make"));
  for (const part of ["x", "y", "z"]) send({ kind: "tool_output", toolCallId: "1", text: part.repeat(15_000) });
  const tool = session.entries.at(-1);
  assert.ok(tool?.kind === "tool");
  assert.equal(tool.output, "y".repeat(5000) + "z".repeat(15_000));
});

test("the progress of a call is its last line of output while it runs, unless it has a command", () => {
  const { session, send } = running();
  assert.equal(progressText(session), "");
  send(call("files__slow", "files: slow"));
  assert.equal(progressText(session), "");
  send({ kind: "tool_output", toolCallId: "1", text: "step 1 (1 of 3)\n" });
  send({ kind: "tool_output", toolCallId: "1", text: "step 2 (2 of 3)\n" });
  assert.equal(progressText(session), "step 2 (2 of 3)");
  send(result("done"));
  assert.equal(progressText(session), "");
  send(call("bash", "make"));
  send({ kind: "command", toolCallId: "1" });
  send({ kind: "tool_output", toolCallId: "1", text: "compiling" });
  assert.equal(progressText(session), "");
});

test("a short result is next to the title, a long one is folded", () => {
  const { session, send } = running();
  send(call("edit_file", "Edit a b.py"));
  send(result("Proposed at line 1 (+1 -1)."));
  const short = viewsOf(session).at(-1);
  assert.deepEqual(short?.kind === "tool" && [short.note, short.body.text], ["Proposed at line 1 (+1 -1).", ""]);
  send(result("one\ntwo"));
  const long = viewsOf(session).at(-1);
  assert.deepEqual(long?.kind === "tool" && [long.note, long.body.text], ["", "one\ntwo"]);
});

test("a failed command has a cross and the reason; one that was stopped on purpose has neither", () => {
  const shown = (end: Partial<CommandEnded>): unknown => {
    const { session, send } = running();
    const started = params<CommandStarted>("event.command");
    const own = { sessionId: "s", toolCallId: "1" };
    send({ ...call("bash", "make\nmake test"), locations: [] });
    send({ ...started, ...own });
    send({ ...params<CommandEnded>("event.command_ended"), ...own, ...end });
    send(result(""));
    const view = viewsOf(session).at(-1);
    return view?.kind === "tool" && [view.state, view.title, view.note, view.command.text];
  };
  const command = ["make", "make\nmake test"];
  assert.deepEqual(shown({ ended: "exited", exitCode: 0 }), ["ok", command[0], "", command[1]]);
  assert.deepEqual(shown({ ended: "exited", exitCode: 1 }), ["failed", command[0], "exit code 1", command[1]]);
  assert.deepEqual(shown({ ended: "timeout", exitCode: null }), ["failed", command[0], "timed out", command[1]]);
  assert.deepEqual(shown({ ended: "stopped", exitCode: null }), ["ok", command[0], "", command[1]]);
});

test("a rewrite of the plan has a cross only if it left a step open, not if a check failed without the changes", () => {
  const shown = (open: PlanUpdate["open"]): unknown => {
    const { session, send } = running();
    const own = { sessionId: "s", toolCallId: "1" };
    send({ ...call("todo", "Update the plan"), locations: [] });
    send({ ...params<CommandStarted>("event.command"), ...own });
    send({ ...params<CommandEnded>("event.command_ended"), ...own, ended: "exited", exitCode: 1 });
    const steps = [
      { status: "in_progress", text: "#1: Test" },
      { status: "pending", text: "#2: Ship" },
    ] as const;
    send(result("[>] #1: Test\n[x] in the output of the check", false, { steps, open }));
    const view = viewsOf(session).at(-1);
    return view?.kind === "tool" && [view.state, view.note, view.body.text];
  };
  const plan = "▸ #1: Test\n☐ #2: Ship";
  assert.deepEqual(shown([]), ["ok", "", plan]);
  const open = "“#1” stays open: its check failed.";
  const output = "[>] #1: Test\n[x] in the output of the check";
  assert.deepEqual(shown([{ id: "1", problem: "failed" }]), ["failed", open, output]);
});

test("while a command runs, its output is shown without colors and without overwritten text", () => {
  const { session, send } = running();
  send(call("bash", "make"));
  send({ kind: "tool_output", toolCallId: "1", text: "\x1b[31m10 %\r20 %\x1b[0m\n" });
  const shown = (): unknown => {
    const view = viewsOf(session).at(-1);
    return view?.kind === "tool" && [view.state, view.body.text];
  };
  assert.deepEqual(shown(), ["running", "20 %"]);
  send({ kind: "tool_output", toolCallId: "1", text: "10 %\r\r20 %" });
  assert.deepEqual(shown(), ["running", "20 %\n20 %"]);
});

test("each step that has begun is a heading with its current state in the plan", () => {
  const { store, session, send } = running();
  const plan = params<Plan>("plan");
  const [first] = plan.items;
  assert.ok(first);
  const item = (over: Partial<PlanItem>): PlanItem => ({
    ...first,
    id: "7",
    content: "Greet",
    ...over,
  });
  const shown = (): unknown => viewsOf(session).filter(({ kind }) => kind === "step");
  const set = (version: number, items: PlanItem[]): void => {
    store.setPlan({ ...plan, sessionId: "s", version, items });
  };
  set(1, [item({ status: "pending" })]);
  assert.deepEqual(shown(), []);
  send({ kind: "step_began", itemId: "7", content: "Greet" });
  set(3, [item({ status: "in_progress", activeForm: "Greeting" })]);
  assert.deepEqual(shown(), [{ kind: "step", label: "Greet", mark: "◐", description: "Greeting" }]);
  set(4, [item({ status: "completed", verification: "verified", decidedBy: "make" })]);
  assert.deepEqual(shown(), [{ kind: "step", label: "Greet", mark: "✓", description: "verified" }]);
  set(5, [item({ status: "completed", verification: "failed", decidedBy: "make" })]);
  assert.deepEqual(shown(), [{ kind: "step", label: "Greet", mark: "⚠", description: "failed: make" }]);
  set(6, []);
  assert.deepEqual(shown(), [{ kind: "step", label: "Greet", mark: "", description: "no longer in the plan" }]);
});

test("docs/faults.md 41: characters that hide or reverse text are shown, and a very long text is cut", () => {
  const { session, send } = running();
  send({ kind: "text", text: "a\u202eb\u0007 \u{e0041} 👩‍💻\r\nc" });
  assert.deepEqual(viewsOf(session).at(-1), {
    kind: "answer",
    body: whole("a\\u{202e}b\\u{7} \\u{e0041} 👩‍💻\nc"),
  });
  send({ kind: "text", text: "😀".repeat(2_500_000) });
  const view = viewsOf(session).at(-1);
  assert.ok(view?.kind === "answer" && view.body.text.length < 101_000 && view.body.omitted > 4_800_000);
  assert.doesNotMatch(view.body.text, /[\ud800-\udbff]$/);
  const entry = session.entries.at(-1);
  assert.ok(entry && wholeText(entry).length > 5_000_000);
});

test("of a long result of a command, the end is shown; of another tool's result, the beginning", () => {
  const long = `first\n${"😀".repeat(20_000)}\nlast`;
  const bodyOf = (name: string): string => {
    const { session, send } = running();
    send(call(name, "x"));
    send(result(long));
    const view = viewsOf(session).at(-1);
    assert.ok(view?.kind === "tool" && view.body.text.length <= 10_000);
    assert.equal(view.body.text.length + view.body.omitted, long.length);
    assert.doesNotMatch(view.body.text, /^[\udc00-\udfff]|[\ud800-\udbff]$/);
    return view.body.text;
  };
  for (const name of ["bash", "bash_output", "bash_kill"]) assert.match(bodyOf(name), /last$/);
  assert.match(bodyOf("read_file"), /^first/);
});

test("a command of several lines is shown above its output, however long the output is", () => {
  const { session, send } = running();
  const command = "make\nmake test";
  send(call("bash", command));
  send(result("x".repeat(20_000)));
  const [entry, view] = [session.entries.at(-1), viewsOf(session).at(-1)];
  assert.deepEqual(view?.kind === "tool" && [view.command, view.body.text.length], [whole(command), 10_000]);
  assert.equal(entry && wholeText(entry).split(command).length, 2);
});

test("the context from the editor is shown as plain text", () => {
  const { session, send } = running();
  const event = params<Extract<AgentEvent, { kind: "context" }>>("event.context");
  send({ ...event, sessionId: "s", title: "<b>a.py</b>", text: "```\n<b>x</b>" });
  assert.deepEqual(viewsOf(session).at(-1), { kind: "context", title: "<b>a.py</b>", body: whole("```\n<b>x</b>") });
});

test("a note about feedback says what the feedback is about", () => {
  const { session, send } = running();
  const feedback = params<Extract<AgentEvent, { kind: "feedback" }>>("event.feedback");
  const notes = ["review", "plan", "files", "new_errors", "something_else"].map((about) => {
    send({ ...feedback, sessionId: "s", about });
    const entry = session.entries.at(-1);
    return entry?.kind === "note" && entry.text;
  });
  assert.deepEqual(notes, [
    "The agent was told about your decisions.",
    "The agent was told about your changes to the plan.",
    "The agent was told which files have changed.",
    "The agent was told about new errors in its proposals.",
    "The agent was told about your changes.",
  ]);
});

test("all rules that the agent reads are listed in one entry", () => {
  const { session, send } = running();
  const rules = params<Extract<AgentEvent, { kind: "rules" }>>("event.rules");
  const feedback = params<Extract<AgentEvent, { kind: "feedback" }>>("event.feedback");
  send({ ...rules, sessionId: "s" });
  send({ ...feedback, sessionId: "s", about: "rules" });
  const views = viewsOf(session).slice(1);
  assert.deepEqual(
    views.map((view) => view.kind === "rules" && view.files.map(({ label }) => label)),
    [["AGENTS.md", "src/AGENTS.md (only its beginning, because it is too long)"]],
  );
});

test("a conversation of an earlier window has the same rows as before", () => {
  const { store, session, send } = running();
  const opened = golden<OpenedSession>("sessions.open.result").result;
  assert.ok(opened);
  const own = { sessionId: "s", toolCallId: "1" };
  const events: object[] = [
    { ...call("bash", "make\nmake test"), ...own },
    { ...params<CommandEnded>("event.command_ended"), ...own, ended: "exited", exitCode: 2 },
    result("no rule\n(exit code 2, 0.1 s)"),
    { kind: "step_began", itemId: "7", content: "Build" },
    { kind: "thinking", text: "Hm.", restarts: false },
    { kind: "text", text: "It fails.", restarts: false },
    { kind: "reminder", about: "", text: "" },
    { kind: "feedback", about: "review", text: "" },
    { kind: "retry", attempt: 1, delayMs: 100, error: overloaded },
    { ...params<Extract<AgentEvent, { kind: "usage" }>>("event.usage"), sessionId: "s" },
    { kind: "compacted", text: "Old results were removed." },
  ];
  for (const event of events) send(event);
  store.endRun("s", 1, {
    stopReason: "budget",
    message: "The budget is used up.",
    record: "1 command (1 failed), $0.02",
  });
  store.startRun("s", { continue: "paused" });
  send({ ...call("bash", "make all"), toolCallId: "2" });
  store.markServerGone();
  const head = { sessionId: opened.sessionId, seq: 1, runId: null };
  const transcript = [
    { ...head, kind: "prompt", text: "Do *this*", checkpoint: null },
    ...events.map((event) => ({ ...event, ...head })),
    {
      ...head,
      kind: "run_ended",
      stopReason: "budget",
      message: "The budget is used up.",
      record: "1 command (1 failed), $0.02",
      error: null,
    },
    { ...head, kind: "continued", what: "paused" },
    { ...head, ...call("bash", "make all"), toolCallId: "2" },
  ] as OpenedSession["transcript"];
  const later = new Store();
  later.addTranscript({ ...opened, phase: "paused", transcript });
  assert.ok(later.active);
  assert.deepEqual(viewsOf(later.active), viewsOf(session));
  assert.equal(viewsOf(session).filter((view) => view.kind === "tool" && view.state === "failed").length, 2);
});
