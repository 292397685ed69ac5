import assert from "node:assert/strict";
import { test } from "node:test";
import { entryView } from "../src/features/conversation/entryViews";
import type { AgentEvent, ApproveParams, AskParams, OpenedSession } from "../src/wire/protocol";
import type { Edits, Plan, SessionList } from "../src/wire/protocolStates";
import { isReadyToGo, pauseReason } from "../src/state/waiting";
import { ago, sessionNodes } from "../src/features/sessions/sessionRows";
import { Store } from "../src/state/store";
import { golden, params } from "./goldens";

const list = params<SessionList>("sessions").sessions;
const [first, second, elsewhere] = list.map(({ sessionId }) => sessionId) as [string, string, string];
const now = Date.parse(list[0]?.updatedAt ?? "") + 5 * 60_000;

function listed(): Store {
  const store = new Store();
  store.setRows(list);
  return store;
}

test("a session's row shows its state, its progress, the files to review, its age, and whether it is shown", () => {
  const store = listed();
  store.show(first);
  const [one, two] = sessionNodes(store.listed, store.active, now);
  assert.deepEqual(
    [one?.label, one?.description, one?.icon, one?.isShown],
    ["翻譯問候語", "shown · 1/3 · 2 files · 5 min ago", "sync~spin", true],
  );
  assert.match(one?.tooltip ?? "", /\nCost: \$0\.12 · 34k\nModel: /);
  assert.equal(one?.screenReaderLabel, "翻譯問候語, shown, running, 1 of 3 steps, 2 files to review, 5 min ago");
  assert.deepEqual(
    [two?.label, two?.description, two?.icon, two?.isShown],
    ["New session", "paused · 6 min ago", "debug-pause", false],
  );
});

test("a session that another window has open is listed without its state, which may be out of date", () => {
  const store = listed();
  const row = sessionNodes(store.listed, store.active, now)[2];
  assert.deepEqual(
    [row?.label, row?.description, row?.icon, row?.phase],
    ["Opened in another window", "open in another window", "lock", "elsewhere"],
  );
  assert.equal(row?.screenReaderLabel, "Opened in another window, open in another window");
});

test("a session becomes active only when no other window has it open anymore", () => {
  const store = new Store();
  const changes: string[] = [];
  store.onChange((change) => changes.push(change));
  const row = list[2];
  assert.ok(row);
  store.setRows([row]);
  assert.deepEqual([store.active, store.listed.length], [undefined, 1]);
  store.setRows([{ ...row, phase: "paused" }]);
  assert.equal(pauseReason(store.get(elsewhere)), undefined);
  store.setRows([{ ...row, phase: "paused", openElsewhere: false }]);
  assert.deepEqual([store.active?.id, changes.at(-1)], [elsewhere, "sessions"]);
  assert.match(pauseReason(store.active) ?? "", /before it finished/);
});

test("beside another window on the folder no session is shown, else the first one is", () => {
  assert.equal(listed().active, undefined);
  const alone = new Store();
  alone.setRows(list.filter(({ openElsewhere }) => !openElsewhere));
  assert.equal(alone.active?.id, first);
});

test("the row of a session that waits for the user says so first, and a completed plan has its own icon", () => {
  const store = listed();
  store.startRun(first, "One");
  store.addQuestion({ sessionId: first, toolCallId: "1", question: "Which?", options: [] });
  assert.deepEqual(sessionNodes(store.listed, undefined, now)[0]?.description.split(" · ")[0], "waiting for you");
  store.setRows(list.map((row) => ({ ...row, phase: "idle", completed: row.total })));
  assert.deepEqual(
    sessionNodes(store.listed, undefined, now).map(({ icon }) => icon),
    ["question", "circle-outline", "lock"],
  );
  store.endRun(first, 1, { stopReason: "end_turn", message: "", record: "" });
  assert.deepEqual(
    sessionNodes(store.listed, undefined, now).map(({ icon }) => icon),
    ["pass", "circle-outline", "lock"],
  );
});

test("the row of a session says how its last run ended, and a session is found by its state", () => {
  const store = new Store();
  const ended = ["end_turn", "cancelled", "error", "max_tokens", null];
  const rows = ended.map((stopReason, n) => ({ ...list[1], sessionId: `s${n}`, phase: "idle", ended: stopReason }));
  store.setRows(rows as SessionList["sessions"]);
  const nodes = sessionNodes(store.listed, undefined, now);
  assert.deepEqual(
    nodes.map(({ icon, description }) => [icon, description]),
    [
      ["check", "6 min ago"],
      ["circle-slash", "stopped · 6 min ago"],
      ["error", "failed · 6 min ago"],
      ["warning", "unfinished · 6 min ago"],
      ["circle-outline", "6 min ago"],
    ],
  );
  assert.deepEqual(
    nodes.map(({ found }) => found.split(" · ")[0]),
    ["finished", "stopped", "failed", "unfinished", "idle"],
  );
});

test("the age of a session is shown in minutes, hours or days", () => {
  const minute = 60_000;
  assert.deepEqual([-1, 59_000, minute, 59 * minute, 60 * minute, 47 * 60 * minute, 48 * 60 * minute].map(ago), [
    "just now",
    "just now",
    "1 min ago",
    "59 min ago",
    "1 h ago",
    "1 day ago",
    "2 days ago",
  ]);
});

test("a change to one session does not affect another one", () => {
  const store = new Store();
  store.startRun(first, "One");
  store.setPlan({ ...params<Plan>("plan"), sessionId: second });
  store.setEdits({ ...params<Edits>("edits"), sessionId: second });
  store.addEvent({ ...params<AgentEvent>("event.text"), sessionId: second });
  assert.deepEqual(
    [store.active?.id, store.active?.plan, store.active?.edits, store.active?.entries.length],
    [first, undefined, undefined, 1],
  );
  store.show(second);
  assert.equal(store.active?.plan?.sessionId, second);
});

test("a stopped run is shown as ended at once, and its later events are not shown", () => {
  const store = new Store();
  const event = (kind: AgentEvent["kind"], text: string): AgentEvent =>
    ({ ...params<AgentEvent>(`event.${kind}`), sessionId: first, text }) as AgentEvent;
  const session = store.startRun(first, "One");
  const one = session.runsStarted;
  const shown = (): string[] =>
    session.entries.map((entry) => ("text" in entry ? entry.text : "message" in entry ? entry.message : entry.kind));
  const cancelled = { stopReason: "cancelled", message: "Stopped.", record: "0 of 1 steps." };
  store.addEvent(event("text", "I begin"));
  store.stopRun(first);
  assert.ok(!session.running);
  store.addEvent(event("text", " and go on"));
  assert.deepEqual(shown(), ["One", "I begin", "Stopped."]);
  const two = store.startRun(first, "Two").runsStarted;
  store.addEvent(event("text", "late"));
  store.addEvent(event("run_finished", ""));
  store.addEvent(event("text", "Here"));
  store.endRun(first, one, cancelled);
  assert.ok(session.running, "the answer to the first run ends only that run");
  store.endRun(first, two, { stopReason: "end_turn", message: "Done.", record: "" });
  assert.deepEqual(shown(), ["One", "I begin", "Stopped.", "Two", "Here", "Done."]);
  assert.deepEqual(session.entries[2], { kind: "end", ...cancelled, error: null });
  assert.ok(!session.running);
});

test("when the server is gone, its runs have ended, and the events of the next run are shown", () => {
  const store = new Store();
  store.startRun(first, "One");
  store.stopRun(first);
  store.markServerGone();
  store.startRun(first, "Two");
  store.addEvent({ ...params<AgentEvent>("event.text"), sessionId: first });
  assert.equal(store.active?.entries.at(-1)?.kind, "text");
});

test("when the active session is deleted, the newest other one that is open here becomes active", () => {
  const store = listed();
  store.show(first);
  store.remove(first);
  assert.deepEqual([store.active?.id, store.listed.map(({ id }) => id)], [second, [second, elsewhere]]);
  store.remove(second);
  assert.equal(store.active, undefined);
});

test("later actions of the user or the server do not bring back a deleted session", () => {
  const store = listed();
  store.startRun(first, "One");
  const approval = { ...params<ApproveParams>("approve.params"), sessionId: first };
  const question: AskParams = { sessionId: first, toolCallId: "1", question: "Which?", options: [] };
  store.addApproval(approval);
  store.addQuestion(question);
  store.remove(first);
  store.removeApproval(approval);
  store.removeQuestion(question);
  store.stopRun(first);
  store.endRun(first, 1, { stopReason: "cancelled", message: "Stopped.", record: "" });
  store.rewind(first, 1);
  assert.equal(store.show(first), false);
  assert.deepEqual([store.active?.id, store.sessions.map(({ id }) => id)], [second, [second, elsewhere]]);
  assert.equal(store.show(second), true);
});

test("without a server, no session is listed, and the active one stays readable", () => {
  const store = listed();
  store.startRun(first, "One");
  store.markServerGone();
  assert.deepEqual([store.listed, store.active?.id, store.active?.entries.at(-1)?.kind], [[], first, "end"]);
});

test("the conversation of an earlier window can be read, and includes messages that were sent during the run", () => {
  const store = listed();
  const opened = golden<OpenedSession>("sessions.open.result").result;
  assert.ok(opened);
  store.addTranscript(opened);
  store.addEvent(params<AgentEvent>("event.steered"));
  const session = store.get(first);
  assert.ok(session);
  const views = session.entries.map((entry) => entryView(entry, session, (uri) => uri));
  const texts = views.map((view) =>
    "body" in view && view.body.text !== "" ? view.body.text : "title" in view ? view.title : "",
  );
  assert.ok(texts.some((text) => text.includes("翻譯問候語 👋")));
  const read = views.find((view) => view.kind === "tool");
  assert.deepEqual([read?.title, read?.state], ["Read src/問候.py", "failed"]);
  assert.ok(texts.includes("It greets in Chinese now."));
  assert.deepEqual(views.at(-1), {
    kind: "prompt",
    body: { text: "用您好 (say it politely)", omitted: 0 },
    note: "sent during the run",
    pictures: [],
    canRewind: false,
  });
});

test("a session of an earlier window has its mode; after a rewind, only the server knows the mode", () => {
  const store = listed();
  const opened = golden<OpenedSession>("sessions.open.result").result;
  assert.ok(opened);
  assert.equal(store.get(first)?.mode, null);
  store.addTranscript({ ...opened, sessionId: first, mode: "plan" });
  assert.equal(store.get(first)?.mode, "plan");
  store.startRun(first, "What is it?", "ask");
  store.addTranscript({ ...opened, sessionId: first, mode: "agent" });
  assert.equal(store.get(first)?.mode, "ask");
  store.rewind(first, 1);
  assert.equal(store.get(first)?.mode, null);
});

test("a plan of an earlier window awaits approval as the server says, also after a question and a rewind", () => {
  const store = listed();
  const opened = golden<OpenedSession>("sessions.open.result").result;
  assert.ok(opened);
  const isReady = (): boolean => isReadyToGo(store.get(first));
  const awaiting = { ...opened.plan, sessionId: first, awaitsApproval: true };
  store.addTranscript({ ...opened, sessionId: first, mode: "ask", plan: awaiting });
  assert.equal(isReady(), true);
  const { runsStarted } = store.startRun(first, "What is it?", "ask");
  assert.equal(isReady(), false);
  store.endRun(first, runsStarted, { stopReason: "end_turn", message: "It is.", record: "" });
  assert.equal(isReady(), true);
  store.rewind(first, 1);
  assert.equal(isReady(), true);
  store.setPlan({ ...awaiting, version: awaiting.version + 1, awaitsApproval: false });
  assert.equal(isReady(), false);
});

test("a placeholder shows the task while the server starts, and its removal shows the earlier session again", () => {
  const store = new Store();
  store.startRun(first, "Earlier");
  const starting = store.showStarting("Now", "agent");
  assert.deepEqual(
    [store.active?.title, store.active?.running, store.active?.isStarting, store.listed],
    ["Now", true, true, []],
  );
  assert.equal(store.endStart(starting), true);
  assert.deepEqual([store.active?.id, store.get(starting)], [first, undefined]);
  assert.equal(store.endStart(starting), false);
  const another = store.showStarting("Now", "agent");
  store.show(first);
  store.endStart(another);
  assert.equal(store.active?.id, first);
});
