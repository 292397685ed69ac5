import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { page } from "./page";
import { cardsOf, cardView, objectIds, type Card } from "../src/features/conversation/cards";
import { EntryFeed, PAGE_SIZE } from "../src/features/conversation/entryFeed";
import { parseIntention, type CardView } from "../src/features/conversation/messages";
import { entriesWith, recallable } from "../src/features/conversation/navigation";
import { isSlashBeginning } from "../src/context/completions";
import { parseSent, slashCompletions } from "../src/features/conversation/slashCommands";
import { Cards } from "../src/features/conversation/webview/cards";
import { stateView } from "../src/features/conversation/stateView";
import { exampleTasks } from "../src/features/conversation/exampleTasks";
import { recalled } from "../src/features/conversation/webview/recall";
import type { AgentEvent, ApproveParams, AskParams } from "../src/wire/protocol";
import type { Edits, Plan, SessionList } from "../src/wire/protocolStates";
import { isRewindable, type Session } from "../src/state/session";
import { Store } from "../src/state/store";
import { runError } from "./errors";
import { params } from "./goldens";

const READY = {
  hasFolder: true,
  isTrusted: true,
  usesKey: true,
  hasModel: true,
  hasFailed: false,
  examples: ["Fix #problems"],
};
const same = (uri: string): string => uri;
const cards = (session: Session | undefined, ready = READY): Card[] => cardsOf(session, ready, same);
const shown = (session: Session | undefined, ready = READY): unknown[] =>
  cards(session, ready).map(({ title, buttons }) => [title, ...buttons.map(({ label }) => label)]);

test("an approval shows the command, where it runs and why it needs approval; its buttons decide on it", () => {
  const store = new Store();
  const approval = { ...params<ApproveParams>("approve.params"), sessionId: "s", command: "rm \u202e-rf x\nls" };
  const session = store.startRun("s", "Task");
  store.addApproval(approval);
  const [card] = cards(session);
  assert.ok(card);
  const view = cardView(card, objectIds());
  assert.equal(view.subject, "rm \\u{202e}-rf x\nls");
  assert.deepEqual(view.buttons, [
    "Allow Once",
    "Allow for This Session",
    "Always Allow...",
    "Reject",
    "Reject Because...",
  ]);
  assert.deepEqual(view.details, [`In ${approval.cwd ?? ""}, outside the sandbox.`, ...approval.reasons]);
  assert.deepEqual(card.buttons[0]?.action, { kind: "decide", approval, option: "allow_once" });
});

test("a question has a button for each option, and accepts a typed answer", () => {
  const store = new Store();
  const question: AskParams = { sessionId: "s", toolCallId: "1", question: "Which?", options: ["A", "B"] };
  const session = store.startRun("s", "Task");
  store.addQuestion(question);
  const [card] = cards(session);
  assert.deepEqual(
    card?.buttons.map(({ action }) => action),
    [
      { kind: "reply", question, text: "A" },
      { kind: "reply", question, text: "B" },
    ],
  );
  assert.deepEqual(
    cards(session).map((each) => cardView(each, objectIds()).reply),
    ["answer"],
  );
});

test("a run that ended says what can be done next", () => {
  const ended = (stopReason: string, kind?: string, ready = READY): unknown[] => {
    const store = new Store();
    const session = store.startRun("s", "Task");
    const error = kind === undefined ? null : runError(kind);
    store.endRun("s", 1, { stopReason, message: "", record: "", error });
    return shown(session, ready);
  };
  assert.deepEqual(ended("end_turn"), []);
  assert.deepEqual(ended("budget"), [["The budget is used up.", "Continue"]]);
  assert.deepEqual(ended("cancelled"), [["The run did not finish.", "Continue"]]);
  assert.deepEqual(ended("error", "network"), [["The run ended with an error.", "Change Server", "Retry"]]);
  const recorded = ["The recording has ended.", "Set Up Model", "Try the Example"];
  assert.deepEqual(ended("error", "replay_ended"), [recorded]);
  assert.deepEqual(ended("error", "auth"), [["The run ended with an error.", "Set API Key", "Choose Model", "Retry"]]);
  const cloud = { ...READY, usesKey: false };
  assert.deepEqual(ended("error", "auth", cloud), [["The run ended with an error.", "Retry"]]);
});

test("a run that waits for long to send its request again offers what may help", () => {
  const store = new Store();
  const session = store.startRun("s", "Task");
  const fails = (attempt: number, delayMs: number, kind = "network"): unknown[] => {
    const head = { sessionId: "s", seq: 1, runId: "r" };
    store.addEvent({ ...head, kind: "retry", attempt, delayMs, error: runError(kind) });
    return shown(session);
  };
  assert.deepEqual(fails(1, 400), []);
  assert.deepEqual(fails(2, 800), []);
  assert.deepEqual(fails(3, 1600), [["The model has not answered yet.", "Change Server", "Stop"]]);
  assert.deepEqual(fails(1, 50_000, "overloaded"), [["The model has not answered yet.", "Choose Model", "Stop"]]);
  store.addEvent({ sessionId: "s", seq: 2, runId: "r", kind: "text", text: "Now.", restarts: false });
  assert.deepEqual(shown(session), []);
});

test("a countdown is shown while a request waits, and no time while the agent waits for the user", () => {
  const store = new Store();
  const session = store.startRun("s", "Task");
  const state = (): unknown[] => {
    const view = stateView(session, [], objectIds(), {
      agent: "Fairlead",
      isHosted: false,
      agents: [],
      chips: [],
      history: [],
      model: "",
    });
    return [view.isWaiting, view.startedAt, view.retryAt];
  };
  assert.deepEqual(state(), [false, session.startedAt, null]);
  const head = { sessionId: "s", seq: 1, runId: "r" };
  store.addEvent({ ...head, kind: "retry", attempt: 1, delayMs: 500, error: runError("network") });
  assert.deepEqual(state(), [false, session.startedAt, session.retry?.at]);
  store.addQuestion({ sessionId: "s", question: "Which?", options: [] } as unknown as AskParams);
  assert.deepEqual(state(), [true, null, null]);
});

test("the cost of a session is next to that of the last run if it is more", () => {
  const store = new Store();
  const session = store.startRun("s", "One");
  const usage = params<Extract<AgentEvent, { kind: "usage" }>>("event.usage");
  const cost = (costUsd: number | null, ofSession: number | null): string => {
    store.addEvent({ ...usage, sessionId: "s", costUsd });
    const [row] = params<SessionList>("sessions").sessions;
    assert.ok(row);
    store.setRows([{ ...row, sessionId: "s", costUsd: ofSession }]);
    return stateView(session, [], objectIds(), {
      agent: "Fairlead",
      isHosted: false,
      agents: [],
      chips: [],
      history: [],
      model: "",
    }).prompt.cost;
  };
  assert.match(cost(0.01, 0.06), /^\$0\.01 · .* tokens · \$0\.06 in this session$/);
  assert.doesNotMatch(cost(0.05, 0.02) + cost(0.05, 0.0501) + cost(null, null), /session/);
});

test("changes to review and a plan that waits for approval have cards, but not while the agent works", () => {
  const store = new Store();
  const session = store.startRun("s", "Task", "plan");
  store.setPlan({ ...params<Plan>("plan"), sessionId: "s", awaitsApproval: true });
  store.setEdits({ ...params<Edits>("edits"), sessionId: "s" });
  assert.deepEqual(shown(session), []);
  store.endRun("s", 1, { stopReason: "end_turn", message: "", record: "" });
  assert.deepEqual(
    cards(session).map(({ about }) => about),
    ["plan-s", "review-s"],
  );
});

test("a click on a card that is no longer shown finds no card of another session", () => {
  const idOf = objectIds();
  const idsOf = (id: string, stopReason: string): string[] => {
    const store = new Store();
    const session = store.startRun(id, "Task", "plan");
    store.setPlan({ ...params<Plan>("plan"), sessionId: id, awaitsApproval: true });
    store.setEdits({ ...params<Edits>("edits"), sessionId: id });
    store.endRun(id, 1, { stopReason, message: "", record: "" });
    return cards(session).map((card) => cardView(card, idOf).id);
  };
  for (const stopReason of ["end_turn", "budget", "lost"]) {
    const [one, other] = [idsOf("1", stopReason), idsOf("2", stopReason)];
    assert.ok(one.length > 1);
    assert.deepEqual(
      other.filter((id) => one.includes(id)),
      [],
    );
  }
});

test("without a folder or trust the conversation says what is missing, with a button", () => {
  assert.deepEqual(shown(undefined, { ...READY, hasFolder: false }), [
    ["Open the folder that the agent should work in.", "Open Folder"],
  ]);
  assert.deepEqual(shown(undefined, { ...READY, isTrusted: false }), [
    ["The agent runs only in a workspace that you trust.", "Manage Trust"],
  ]);
});

test("if the server could not be started, the conversation says so, with buttons", () => {
  assert.deepEqual(shown(undefined, { ...READY, hasFailed: true }), [
    ["Fairlead's server could not be started.", "Try Again", "Show Log"],
  ]);
});

test("an empty conversation offers tasks that fit what the user has in front, and says whether a model is set up", () => {
  const examples = ["For example:", "Fix #problems"];
  assert.deepEqual(shown(undefined), [examples]);
  const noModel = ["No model is set up yet.", "Set Up Model", "Try the Example"];
  assert.deepEqual(shown(undefined, { ...READY, hasModel: false }), [noModel, examples]);
  assert.deepEqual(exampleTasks({ file: "#a.ts", hasErrors: true, hasChanges: false }), [
    "Fix #problems",
    "Write tests for #a.ts",
    "Explain #a.ts",
  ]);
  const nothing = exampleTasks({ file: undefined, hasErrors: false, hasChanges: false });
  assert.deepEqual([nothing.length, nothing[0]], [3, "Explain how this project is built and tested"]);
});

test("another session that waits for the user has a card that shows it", () => {
  const store = new Store();
  const question: AskParams = { sessionId: "other", toolCallId: "1", question: "Which?", options: [] };
  store.startRun("other", "Fix the tests");
  store.addQuestion(question);
  const session = store.startRun("s", "Task");
  const others = (active: Session | undefined): unknown[] =>
    cardsOf(active, READY, same, store.sessions).map(({ title, buttons }) => [title, buttons.at(0)?.action]);
  const waits = ["“Fix the tests” is waiting for you.", { kind: "showSession", sessionId: "other" }];
  assert.deepEqual(others(session), [waits]);
  assert.deepEqual(others(undefined).at(-1), waits);
  assert.deepEqual(
    cardsOf(store.get("other"), READY, same, store.sessions).map(({ title }) => title),
    ["Which?"],
  );
});

test("a card keeps the focus and its text while other cards come and go, and hands the focus over when it goes", () => {
  let lost = 0;
  const drawn = new Cards(() => (lost += 1));
  page.body.append(drawn.element);
  const view = (id: string): CardView => ({ id, title: id, subject: "", details: [], buttons: [], reply: "answer" });
  drawn.update([view("b")]);
  const input = drawn.element.querySelector("input");
  assert.ok(input);
  input.focus();
  input.value = "typed";
  for (const ids of [["a", "b"], ["a", "b", "c"], ["b"]]) {
    drawn.update(ids.map(view));
    assert.deepEqual(
      [...drawn.element.children].map((child) => (child as HTMLElement).dataset.card),
      ids,
    );
    assert.equal(page.activeElement, input);
    assert.equal(input.value, "typed");
  }
  assert.equal(lost, 0);
  drawn.update([view("c")]);
  assert.equal(lost, 1);
  drawn.update([]);
  assert.equal(lost, 1);
});

test("a card that goes while the focus is elsewhere in VS Code does not bring the focus to the page", (context) => {
  const drawn = new Cards(() => assert.fail("the user types somewhere else"));
  page.body.append(drawn.element);
  drawn.update([{ id: "a", title: "a", subject: "", details: [], buttons: ["Set Up"], reply: null }]);
  drawn.focusFirst();
  context.mock.method(page, "hasFocus", () => false);
  drawn.update([]);
});

test("the focus goes to the first button of the first card", () => {
  const drawn = new Cards(() => undefined);
  page.body.append(drawn.element);
  assert.equal(drawn.focusFirst(), false);
  const view = (id: string, ...buttons: string[]): CardView => ({
    id,
    title: id,
    subject: "",
    details: [],
    buttons,
    reply: "answer",
  });
  drawn.update([view("a", "Allow Once", "Reject"), view("b", "Go")]);
  assert.equal(drawn.focusFirst(), true);
  assert.equal(page.activeElement?.textContent, "Allow Once");
  drawn.update([view("c")]);
  assert.equal(drawn.focusFirst(), true);
  assert.equal(page.activeElement, drawn.element.querySelector("input"));
});

test("an object has the same id each time, and no other one has it", () => {
  const idOf = objectIds();
  const [one, two] = [{}, {}];
  assert.deepEqual([idOf(one), idOf(two), idOf(one), idOf("pause")], ["#1", "#2", "#1", "pause"]);
});

test("docs/faults.md 41: a message from the webview is an intention only if each field is valid", () => {
  const good = [
    { kind: "ready" },
    { kind: "press", card: "#1", button: 0 },
    { kind: "open", uri: "file:///a", line: null },
    { kind: "rewind", entry: 0 },
    { kind: "send", text: "x", mode: "ask", cards: ["#1"] },
    // the server refuses such a long text with a message; if it were ignored here, it would be lost without a message
    { kind: "send", text: "x".repeat(1_000_001), mode: "agent", cards: [] },
    { kind: "draft", session: "s", text: "x".repeat(1_000_001) },
    { kind: "answer", card: "#1", text: "x".repeat(1_000_001) },
    { kind: "addPicture", name: "a.png", data: "iVBORw0KGgo=", thumbnail: "data:image/png;base64,iVBORw0KGgo=" },
    { kind: "addPicture", name: "a.png", data: "iVBORw0KGgo=", thumbnail: "" },
    { kind: "removeChip", chip: "picture-12" },
    { kind: "drop", uris: ["file:///a", "file:///b"] },
  ];
  for (const message of good) assert.deepEqual(parseIntention(message), message);
  const bad = [
    undefined,
    null,
    "ready",
    [],
    {},
    { kind: "toString" },
    { kind: "__proto__" },
    { kind: ["ready"] },
    { kind: "press", card: "#1" },
    { kind: "press", card: "#1", button: -1 },
    { kind: "press", card: "#1", button: 0.5 },
    { kind: "press", card: { toString: 1 }, button: 0 },
    { kind: "open", uri: "file:///a", line: "1" },
    { kind: "send", text: "x", mode: "root", cards: [] },
    { kind: "send", text: "x", mode: "agent", cards: [1] },
    { kind: "send", text: "x", mode: "agent", cards: [], command: "workbench.action.quit" },
    { kind: "copyText", text: "x".repeat(1_000_001) },
    { kind: "removeChip", chip: "all" },
    { kind: "removeChip", chip: "picture-" },
    { kind: "drop", uris: "file:///a" },
    { kind: "drop", uris: [1] },
    { kind: "drop", uris: Array<string>(1001).fill("file:///a") },
    { kind: "addPicture", name: "a.png", data: "", thumbnail: "" },
    { kind: "addPicture", name: "a.png", data: "no base64!", thumbnail: "" },
    { kind: "addPicture", name: "a.png", data: "A".repeat(7_000_000), thumbnail: "" },
    { kind: "addPicture", name: "a.png", data: "AAAA", thumbnail: "https://example.com/a.png" },
    { kind: "addPicture", name: "a.png", data: "AAAA", thumbnail: "data:image/svg+xml;base64,AAAA" },
  ];
  for (const message of bad) assert.equal(parseIntention(message), undefined, inspect(message).slice(0, 100));
});

test("of 10,000 messages, only the last are sent at first, then what has changed, and earlier ones on request", () => {
  const store = new Store();
  const session = store.startRun("s", "Task");
  for (let index = 1; index < 10_000; index++) session.entries.push({ kind: "note", text: `note ${index}` });
  const feed = new EntryFeed(same);
  const first = feed.next(session);
  assert.deepEqual([first?.isNew, first?.first, first?.changed.length], [true, 10_000 - PAGE_SIZE, PAGE_SIZE]);
  assert.equal(feed.next(session), undefined);
  store.addEvent({ sessionId: "s", seq: 1, runId: "run1", kind: "text", restarts: false, text: "a" });
  store.addEvent({ sessionId: "s", seq: 2, runId: "run1", kind: "text", restarts: false, text: "b" });
  assert.deepEqual(feed.next(session)?.changed, [[10_000, { kind: "answer", body: { text: "ab", omitted: 0 } }]]);
  feed.showFrom(10_000 - 2 * PAGE_SIZE);
  const earlier = feed.next(session);
  assert.deepEqual(
    [earlier?.isNew, earlier?.first, earlier?.changed.length, earlier?.changed[0]?.[0]],
    [false, 10_000 - 2 * PAGE_SIZE, PAGE_SIZE, 10_000 - 2 * PAGE_SIZE],
  );
  feed.showFrom(10_000);
  feed.showFrom(9_999);
  assert.deepEqual(
    feed.next(session)?.changed.map(([index]) => index),
    [9_999],
  );
  feed.showFrom(20_000); // the webview meant a longer session, which was shown before this one
  session.entries.push({ kind: "note", text: "last" });
  assert.deepEqual(
    feed.next(session)?.changed.map(([index]) => index),
    [10_001],
  );
});

test("everything is sent again for another session, a page that starts again, and entries of an earlier window", () => {
  const store = new Store();
  const session = store.startRun("s", "One");
  const feed = new EntryFeed(same);
  assert.equal(feed.next(undefined)?.isNew, true);
  assert.equal(feed.next(session)?.isNew, true);
  feed.reset();
  assert.equal(feed.next(session)?.isNew, true);
  session.entries.unshift({ kind: "prompt", text: "Zero", checkpoint: null });
  assert.deepEqual([feed.next(session)?.isNew, feed.next(session)], [true, undefined]);
  assert.equal(feed.next(store.startRun("t", "Two"))?.isNew, true);
});

test("a rewind removes the entries from its prompt on, and the feed sends those that stay", () => {
  const store = new Store();
  const started = (text: string, seq: number, checkpoint: number | null): Session => {
    const session = store.startRun("s", text);
    store.addEvent({
      sessionId: "s",
      seq,
      runId: "run1",
      kind: "run_started",
      model: "m",
      recording: null,
      checkpoint,
      workDoneToken: null,
    });
    store.addEvent({
      sessionId: "s",
      seq: seq + 1,
      runId: "run1",
      kind: "text",
      restarts: false,
      text: `answer to ${text}`,
    });
    return session;
  };
  started("One", 1, 1);
  started("Continue", 3, null);
  const session = started("Two", 5, 2);
  const feed = new EntryFeed(same);
  feed.next(session);
  assert.deepEqual(
    session.entries.filter(isRewindable).map(({ text, checkpoint }) => [text, checkpoint]),
    [
      ["One", 1],
      ["Two", 2],
    ],
  );
  store.rewind("s", 2);
  const shown = feed.next(session);
  assert.deepEqual(
    [shown?.isNew, shown?.changed.map(([, view]) => (view.kind === "prompt" ? view.body.text : view.kind))],
    [true, ["One", "answer", "Continue", "answer"]],
  );
  store.rewind("s", 9);
  assert.equal(session.entries.length, 4);
  store.rewind("s", 1);
  assert.deepEqual(feed.next(session)?.changed, []);
});

test("a step's heading is sent again when the plan changes", () => {
  const store = new Store();
  const session = store.startRun("s", "Task");
  const plan = { ...params<Plan>("plan"), sessionId: "s" };
  store.setPlan(plan);
  const step = { kind: "step_began", itemId: plan.items[0]?.id ?? "", content: "Step" } as const;
  store.addEvent({ sessionId: "s", seq: 1, runId: "run1", ...step });
  const feed = new EntryFeed(same);
  feed.next(session);
  store.setPlan({ ...plan, version: plan.version + 1, items: [] });
  assert.ok(session.entries.some(({ kind }) => kind === "step"));
  assert.deepEqual(
    feed.next(session)?.changed.map(([, view]) => view.kind),
    session.entries.filter(({ kind }) => kind === "step").map(({ kind }) => kind),
  );
});

test("a new session shows nothing until a task begins, even while events of other sessions arrive", () => {
  const store = new Store();
  store.startRun("s", "One");
  store.showNone();
  store.addEvent({ sessionId: "s", seq: 1, runId: "run1", kind: "text", restarts: false, text: "a" });
  store.addEvent({
    sessionId: "other",
    seq: 1,
    runId: "run1",
    kind: "run_started",
    model: "m",
    recording: null,
    checkpoint: null,
    workDoneToken: null,
  });
  const shownId = (): string | undefined => store.active?.id;
  assert.equal(shownId(), undefined);
  store.startRun("t", "Two");
  assert.equal(shownId(), "t");
});

test("a slash at the start begins a command or a path", () => {
  const task = (text: string, mode?: string, isNew = false): object => ({ kind: "task", text, mode, isNew });
  assert.deepEqual(parseSent("  do it\nnow ", [], []), task("do it\nnow"));
  assert.deepEqual(parseSent("/plan do it\nnow", [], []), task("do it\nnow", "plan"));
  assert.deepEqual(parseSent("/new do it", [], []), task("do it", "agent", true));
  assert.deepEqual(parseSent("/usr/bin is full", [], []), task("/usr/bin is full"));
  for (const unknown of ["/unknown x", "/newDo it"]) {
    const sent = parseSent(unknown, [], []);
    assert.match(sent.kind === "unclear" ? sent.problem : "", /^There is no command \/(unknown|newDo)\./);
  }
  assert.deepEqual(parseSent("/new", [], []), { kind: "command", command: "fairlead.newSession" });
  assert.deepEqual(parseSent("/plan ", [], []), { kind: "unclear", problem: "Write the task after /plan." });
  assert.deepEqual(parseSent("/review", [], []), { kind: "command", command: "fairlead.reviewAll" });
  assert.deepEqual(parseSent("/review all", [], []), {
    kind: "unclear",
    problem: "/review takes no text. To send this as a task, begin it with another word.",
  });
  const completed = (text: string): string[] => slashCompletions(text, [], []).map((each) => each.text);
  assert.deepEqual(completed("/pl"), ["/plan "]);
  assert.deepEqual(completed("/rev"), ["/review"]);
  assert.deepEqual(["/", "/pl", "see /pl", "/plan x"].map(isSlashBeginning), [true, true, false, false]);
});

const OFFERS = [
  {
    server: "docs",
    prompts: [
      {
        name: "explain",
        description: "Explains\na file.",
        arguments: [
          { name: "path", isRequired: true },
          { name: "reader", isRequired: true },
          { name: "style", isRequired: false },
        ],
      },
      { name: "explain all", description: "", arguments: [] },
    ],
    resources: [],
  },
];

test("a prompt of a tool server is completed with its arguments", () => {
  const rows = [
    { label: "/docs:explain <path> <reader> [style]", description: "Explains a file.", text: "/docs:explain " },
    { label: "/docs:explain all", description: "", text: "/docs:explain all" },
  ];
  for (const typed of ["/docs:e", "/exp"]) assert.deepEqual(slashCompletions(typed, OFFERS, []), rows);
  assert.equal(slashCompletions("/", OFFERS, []).length, slashCompletions("/", [], []).length + 2);
});

test("the words after a prompt of a tool server are its arguments, in order; the last one takes the rest", () => {
  const chosen = (text: string): unknown => {
    const sent = parseSent(text, OFFERS, []);
    return sent.kind === "task" ? sent.chosen?.arguments : sent.kind === "unclear" && sent.problem;
  };
  const values = { path: "a.py", reader: "me" };
  assert.deepEqual(chosen("/docs:explain a.py me"), values);
  assert.deepEqual(chosen(' /docs:explain "my file.py"\nme in a\n few "words" '), {
    path: "my file.py",
    reader: "me",
    style: 'in a\n few "words"',
  });
  assert.deepEqual(chosen('/docs:explain a.py me "in short"'), { ...values, style: "in short" });
  assert.deepEqual(chosen("/docs:explain all"), {});
  assert.equal(
    chosen("/docs:explain"),
    "/docs:explain needs path, reader. Write the values in this order: <path> <reader> [style]",
  );
  assert.match(String(chosen("/docs:explain a.py")), /needs reader\./);
  assert.match(String(chosen("/docs:explain all of it")), /takes no text/);
  assert.deepEqual(parseSent("/docs:explained x", OFFERS, []), {
    kind: "task",
    text: "/docs:explained x",
    mode: undefined,
    isNew: false,
  });
});

test("the arrow keys go through the earlier tasks and back to what was typed", () => {
  const history = ["new", "old"];
  const one = recalled(1, "typed", history, undefined);
  const two = recalled(1, "new", history, one);
  assert.deepEqual([one?.shown, two?.shown, recalled(1, "old", history, two)], ["new", "old", undefined]);
  const back = recalled(-1, "old", history, two);
  assert.deepEqual([back?.shown, recalled(-1, "new", history, back)?.shown], ["new", "typed"]);
  assert.equal(recalled(-1, "typed", history, undefined), undefined);
});

test("the arrow keys recall the messages of the session too, the newest first, each once", () => {
  const session = new Store().startRun("s", "First");
  session.entries.push({ kind: "steered", text: "Use tabs" }, { kind: "prompt", text: "Second", checkpoint: null });
  assert.deepEqual(recallable(session, ["Second", "First", "Older"]), ["Second", "Use tabs", "First", "Older"]);
  assert.deepEqual(recallable(undefined, ["Older"]), ["Older"]);
});

test("the text is found in all entries, in any case, and without the marks of Markdown", () => {
  const store = new Store();
  const session = store.startRun("s", "Fix the Parser");
  const event = { sessionId: "s", seq: 1, kind: "text", text: "I make a **par**ser, `now`." } as const;
  store.addEvent({ ...event, runId: "1" } as AgentEvent);
  store.startRun("s", "and __init__");
  const found = (text: string): number[] => entriesWith(session.entries, text);
  assert.deepEqual(
    [found("parser"), found("**par**"), found("__init__"), found("nothing"), found("")],
    [[0, 1], [1], [2], [], []],
  );
});

test("skills and commands are completed, and sent as they are typed", () => {
  const skill = { kind: "skill", description: "Fills forms.", hint: "<file>", uri: "file:///s/SKILL.md" } as const;
  const flags = { isForModel: true, isForUser: true, isFromWorkspace: true };
  const skills = [
    { ...skill, ...flags, name: "pdf" },
    { ...skill, ...flags, name: "plan" },
    { ...skill, ...flags, name: "hidden", isForUser: false },
  ];
  assert.deepEqual(slashCompletions("/pd", [], skills), [
    { label: "/pdf <file>", description: "Fills forms.", text: "/pdf " },
  ]);
  // the name of a command of the prompt is taken
  assert.equal(slashCompletions("/plan", [], skills).length, 1);
  assert.equal(slashCompletions("/h", [], skills).length, slashCompletions("/h", [], []).length);
  assert.deepEqual(parseSent("/pdf a.pdf", [], skills), {
    kind: "task",
    text: "/pdf a.pdf",
    mode: undefined,
    isNew: false,
  });
});
