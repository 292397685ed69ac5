import assert from "node:assert/strict";
import { test } from "node:test";
import { cardsOf } from "../src/features/conversation/cards";
import { noticesOf } from "../src/features/questions/noticeTexts";
import { otherNodes, topNodes } from "../src/features/plan/planNodes";
import type { ApproveParams, AskParams, RunError } from "../src/wire/protocol";
import type { Plan } from "../src/wire/protocolStates";
import type { Session } from "../src/state/session";
import { Store } from "../src/state/store";
import { isWorking, pauseReason } from "../src/state/waiting";
import { messageText } from "../src/ui/shownText";
import { reviewText, statusTexts } from "../src/features/status/statusTexts";
import { runError } from "./errors";
import { params } from "./goldens";

const relative = (uri: string): string => uri;
const approval = params<ApproveParams>("approve.params");
const confirmation = params<ApproveParams>("approve.params.confirmation");
const question = params<AskParams>("ask.params");

function running(): { store: Store; session: Session } {
  const store = new Store();
  return { store, session: store.startRun(approval.sessionId, "Task") };
}
const notices = (session: Session) => noticesOf(session, relative);
const statusLines = (store: Store): string[] => {
  const { icon, text, tooltip } = statusTexts(store.active, store.sessions, 0, relative);
  return [`${icon} ${text}`, tooltip.split("\n")[0] ?? ""];
};
const titles = (session: Session): string[][] =>
  notices(session).map(({ buttons }) => buttons.map(({ title }) => title));

test("each approval has a notice until it is answered, and counts as waiting only if the agent waits for it", () => {
  const { store, session } = running();
  store.addApproval({ ...confirmation, sessionId: session.id });
  assert.deepEqual([titles(session), isWorking(session)], [[["Accept This File", "Leave Pending"]], true]);
  store.addApproval(approval);
  assert.equal(isWorking(session), false);
  store.removeApproval(approval);
  assert.deepEqual([titles(session).length, isWorking(session)], [1, true]);
  store.markServerGone();
  assert.deepEqual(notices(session), []);
});

test("a command that a notice would truncate or show as a link cannot be allowed from the notice", () => {
  for (const command of [
    "echo a\necho b",
    `echo ${"a".repeat(400)}`,
    "echo [safe](https://x.example/$(curl evil))",
    "echo [a](command:b)",
  ]) {
    const { store, session } = running();
    store.addApproval({ ...approval, command });
    assert.deepEqual(titles(session), [["Show Full Command", "Reject"]]);
  }
});

test("text from the model makes no link in a notice, and few short options are buttons", () => {
  const { store, session } = running();
  store.addQuestion({
    ...question,
    sessionId: session.id,
    question: `[Yes](command:workbench.action.quit) ${"or no ".repeat(300)}?`,
    options: ["Yes", "No\u200b"],
  });
  const [notice] = notices(session);
  const shown = messageText(notice?.text ?? "");
  assert.doesNotMatch(shown, /\]\(/);
  assert.ok(shown.length < 700, shown);
  assert.deepEqual(titles(session), [["Yes", "No\\u{200b}", "Other Answer..."]]);
  for (const options of [[], ["1", "2", "3", "4"], ["long ".repeat(20)]]) {
    const other = running();
    other.store.addQuestion({ ...question, sessionId: other.session.id, options });
    assert.deepEqual(titles(other.session), [["Answer..."]]);
  }
});

test("a pause is shown with its reason until the session continues, even after a reload", () => {
  const { store, session } = running();
  store.endRun(session.id, 1, { stopReason: "budget", message: "Paused: the budget is 30.", record: "" });
  assert.deepEqual(titles(session), [["Continue"]]);
  assert.equal(pauseReason(session), "Paused: the budget is 30.");
  assert.deepEqual(
    topNodes(session, (uri) => uri).map(({ kind }) => kind),
    ["pause"],
  );
  store.startRun(session.id, "On");
  assert.deepEqual([notices(session), pauseReason(session)], [[], undefined]);
  const later = new Store();
  later.setRows([
    {
      sessionId: "s",
      title: "Task",
      updatedAt: "2026-01-01T00:00:00Z",
      phase: "paused",
      completed: 0,
      total: 0,
      pendingFiles: 0,
      model: { endpoint: "anthropic", model: "m", effort: "" },
      ended: null,
      tokens: 0,
      costUsd: null,
      openElsewhere: false,
    },
  ]);
  assert.match(pauseReason(later.get("s")) ?? "", /before it finished/);
});

test("a run that ends for another reason is not paused", () => {
  for (const stopReason of ["end_turn", "cancelled", "error", "max_tokens"]) {
    const { store, session } = running();
    store.endRun(session.id, 1, { stopReason, message: "", record: "" });
    assert.equal(pauseReason(session), undefined);
  }
});

test("a notice names its task, shortened if it is long", () => {
  const { store, session } = running();
  store.addApproval(approval);
  assert.match(notices(session)[0]?.text ?? "", /^“Task”: Run “/);
  session.title = "Rename the helper in all of the modules and then in the documentation";
  assert.match(notices(session)[0]?.text ?? "", /^“Rename the helper in all of the modules and then…”: Run “/);
});

test("the status bar counts what waits for the user in all sessions, names the first, and counts other running sessions", () => {
  const { store, session } = running();
  assert.equal(statusLines(store)[0], "sync~spin Agent");
  store.addQuestion({ ...question, sessionId: session.id, question: "Which\none?" });
  assert.deepEqual(statusLines(store), ["question Agent: 1 waiting for you", "“Task”: Which one?"]);
  store.startRun("other", "Another");
  assert.deepEqual(statusLines(store), ["question Agent: 1 waiting for you", "“Task”: Which one?"]);
  store.addApproval({ ...approval, sessionId: "other" });
  assert.equal(statusLines(store)[0], "question Agent: 2 waiting for you");
  store.stopRun("other");
  store.stopRun(session.id);
  assert.equal(statusLines(store)[0], "checklist Agent");
  store.startRun(session.id, "On");
  store.show("other");
  assert.equal(statusLines(store)[0], "sync~spin Agent · 1 running");
  store.endRun(session.id, 2, { stopReason: "budget", message: "Paused: the budget is 30.", record: "" });
  assert.deepEqual(statusLines(store), ["question Agent: 1 waiting for you", "“Task”: paused"]);
  store.showNone();
  assert.equal(statusLines(store)[0], "question Agent: 1 waiting for you");
  store.show(session.id);
  assert.equal(statusLines(store)[0], "debug-pause Agent paused");
});

test("the status bar marks a recording in place of the model", () => {
  const { store, session } = running();
  session.recording = "greet.replay.yaml";
  assert.equal(statusLines(store)[0], "sync~spin Agent (replay)");
});

test("the text about the files to review is short", () => {
  assert.deepEqual(
    [reviewText(12, 100), reviewText(3, 3), reviewText(1, 1)],
    ["12 of 100 left", "3 files to review", "1 file to review"],
  );
});

test("a ready plan, a failed run and other waiting sessions have rows in the Plan view", () => {
  const { store, session } = running();
  const rows = (usesKey = true): string[] =>
    [...otherNodes(store.sessions, store.active), ...topNodes(session, relative, usesKey)].flatMap((node) =>
      "row" in node && node.kind !== "item" ? [`${node.kind}: ${node.row.label} ${node.row.description}`] : [],
    );
  const end = (stopReason: string, kind?: string): void => {
    store.startRun(session.id, "Again");
    const error = kind === undefined ? {} : { error: runError(kind) };
    store.endRun(session.id, session.runsStarted, { stopReason, message: "It failed.", record: "", ...error });
  };
  assert.deepEqual(rows(), []);
  end("error", "auth");
  assert.deepEqual(rows(), ["retry: Set API Key It failed."]);
  assert.deepEqual(rows(false), ["retry: Retry It failed."]);
  end("error", "network");
  assert.deepEqual(rows(), ["retry: Retry It failed."]);
  end("cancelled");
  assert.deepEqual(rows(), []);
  session.plan = { ...params<Plan>("plan"), outside: [], completed: 1, total: 3, awaitsApproval: true };
  assert.deepEqual(rows(), ["go: Go the plan is ready, 2 steps"]);
  store.startRun("other", "Another task");
  assert.deepEqual(rows()[0], "other: “Task” is waiting for you");
});

test("the Plan view and the conversation say the same about a run that ended early", () => {
  const said = (stopReason: string): unknown[] => {
    const { store, session } = running();
    store.endRun(session.id, 1, { stopReason, message: "Why.", record: "" });
    const cards = cardsOf(
      session,
      { hasFolder: true, isTrusted: true, usesKey: true, hasModel: true, hasFailed: false, examples: [] },
      relative,
    );
    const rows = topNodes(session, relative).flatMap((node) => ("row" in node ? [node.row] : []));
    return [
      cards.map(({ title, buttons }) => [buttons[0]?.label, title]),
      rows.map(({ label, screenReaderLabel }) => [label, screenReaderLabel]),
    ];
  };
  const unfinished = [
    [["Continue", "The run did not finish."]],
    [["Continue", "Continue. The run did not finish. Why."]],
  ];
  assert.deepEqual(said("max_tokens"), unfinished);
  assert.deepEqual(said("lost"), unfinished);
  assert.deepEqual(said("error"), [
    [["Retry", "The run ended with an error."]],
    [["Retry", "Retry. The run ended with an error. Why."]],
  ]);
  // the user stopped the run, so the Plan view does not offer to continue it
  assert.deepEqual(said("cancelled"), [[["Continue", "The run did not finish."]], []]);
  assert.deepEqual(said("end_turn"), [[], []]);
  assert.deepEqual(said("refusal"), [[], []]);
});

test("after a request that the model's server refused, the conversation offers what may help", () => {
  const offered = (error: RunError): unknown[] => {
    const { store, session } = running();
    store.endRun(session.id, 1, { stopReason: "error", message: "Why.", record: "", error });
    const cards = cardsOf(
      session,
      { hasFolder: true, isTrusted: true, usesKey: true, hasModel: true, hasFailed: false, examples: [] },
      relative,
    );
    return cards.flatMap(({ buttons }) => buttons.map(({ label }) => label));
  };
  assert.deepEqual(offered(runError("invalid_request")), ["Choose Model", "Retry"]);
  assert.deepEqual(offered(runError("unknown_model", { models: ["m"] })), ["Use m", "Choose Model", "Retry"]);
  assert.deepEqual(offered(runError("network")), ["Change Server", "Retry"]);
});
