// The rows of the Plan view, and what they say about time, cost and problems.

import assert from "node:assert/strict";
import { test } from "node:test";
import { duration, contextUsage, usageSummary, shortCount } from "../src/ui/format";
import { childNodes, topNodes, type PlanNode } from "../src/features/plan/planNodes";
import { lapsedText } from "../src/features/plan/lapsed";
import { planCount, stepRow, type Activity } from "../src/ui/stepRow";
import type { UsageEvent } from "../src/wire/protocol";
import type { Diagnostic, Edits, Plan, PlanItem } from "../src/wire/protocolStates";
import type { Session } from "../src/state/session";
import { Store } from "../src/state/store";
import { StepClock } from "../src/features/plan/stepClock";
import { params } from "./goldens";

const relative = (uri: string): string => decodeURIComponent(uri.replace("file:///project/", ""));

const step = (change: Partial<PlanItem>): PlanItem => {
  const [item] = params<Plan>("plan").items;
  assert.ok(item);
  return { ...item, content: "Step", activeForm: "Stepping", ...change };
};

test("each state of an unfinished step has its icon, color and text for screen readers", () => {
  const look = (change: Partial<PlanItem>, activity: Activity = "working"): unknown[] => {
    const { icon, color, screenReaderLabel: spoken } = stepRow(step(change), activity, relative);
    return [icon, color, spoken];
  };
  assert.deepEqual(look({ status: "pending", verification: "none" }), [
    "circle-large-outline",
    undefined,
    "Step, to do",
  ]);
  assert.deepEqual(look({ status: "pending", verification: "none", held: true }), [
    "debug-pause",
    "charts.yellow",
    "Step, held",
  ]);
  assert.deepEqual(look({ status: "in_progress", verification: "none" }), [
    "sync~spin",
    "charts.blue",
    "Step, in progress",
  ]);
  assert.deepEqual(look({ status: "in_progress", verification: "none" }, "idle"), [
    "debug-pause",
    "charts.blue",
    "Step, not finished",
  ]);
  assert.deepEqual(look({ status: "in_progress", verification: "none" }, "waiting"), [
    "question",
    "charts.yellow",
    "Step, waiting for you",
  ]);
});

test("a completed step says in words what supports it", () => {
  const [green, grey, orange] = ["charts.green", "descriptionForeground", "charts.orange"];
  const none = { decidedBy: "", changedSince: [] };
  const cases: [Partial<PlanItem>, (string | undefined)[]][] = [
    [{ verification: "verified", changedSince: [] }, ["pass-filled", green, "verified", "done, verified by pytest -q"]],
    [
      { verification: "stale" },
      ["warning", orange, "1 file changed since", "done, 1 file changed since it was verified by pytest -q"],
    ],
    [
      { verification: "failed", changedSince: [] },
      ["warning", orange, "failed: pytest -q", "done, but pytest -q failed"],
    ],
    [
      { verification: "unverified", ...none },
      ["pass", grey, "unverified", "done, unverified: no test, build or linter ran on it"],
    ],
    [{ verification: "looked", ...none }, ["pass", grey, "only read", "done, only read files"]],
    [{ verification: "noEvidence", ...none }, ["pass", grey, "no evidence", "done, no evidence: nothing happened"]],
    [{ verification: "marked", ...none }, ["pass-filled", green, "marked by you", "marked as done by you"]],
  ];
  for (const [change, [icon, color, description, spoken]] of cases) {
    const row = stepRow(step(change), "working", relative);
    assert.deepEqual(
      [row.icon, row.color, row.description, row.screenReaderLabel],
      [icon, color, description, `Step, ${spoken}`],
    );
  }
});

test("a step's tooltip shows its evidence and its cost", () => {
  const [first] = params<Plan>("plan").items;
  assert.ok(first);
  assert.equal(
    stepRow(first, "working", relative).tooltip,
    "Read 問候.py\nDone, 1 file changed since it was verified by pytest -q\nChanged since: src/問候.py\n1 file, 1 command\n310 tokens · $0.0125",
  );
});

test("a step names the ignored files without which its command fails", () => {
  const leftovers = ["file:///project/site%20customize.py"];
  const change: Partial<PlanItem> = { verification: "unverified", decidedBy: "sh a.sh", changedSince: [], leftovers };
  const { description, tooltip } = stepRow(step({ status: "completed", ...change }), "idle", relative);
  assert.equal(description, "unverified: needs ignored files");
  assert.match(tooltip, /sh a\.sh passes only with .*\nPasses only with the ignored: site customize\.py\n/);
});

test("a step says in words that its check is flaky", () => {
  const { description, screenReaderLabel } = stepRow(
    step({ status: "completed", verification: "unverified", decidedBy: "sh a.sh", flaky: true }),
    "idle",
    relative,
  );
  assert.equal(description, "unverified: flaky check");
  assert.match(screenReaderLabel, /sh a\.sh is flaky/);
});

const session = (plan: Plan): Session => {
  const store = new Store();
  const begun = store.startRun(plan.sessionId, "Task");
  store.setPlan(plan);
  return begun;
};

const rowsOf = (nodes: readonly PlanNode[]): string[] =>
  nodes.map((node) => ("row" in node ? `${node.row.label} | ${node.row.description}` : node.kind));

test("work before the plan has a row above the steps, and each step has its evidence below it", () => {
  const plan = session(params<Plan>("plan"));
  const nodes = topNodes(plan, relative);
  assert.deepEqual(rowsOf(nodes), [
    "Before the plan | 1 read",
    "Read 問候.py | 1 file changed since",
    "翻譯問候語 👋 | 正在翻譯問候語",
    "Run the tests | ",
  ]);
  const below = nodes.map((node) => rowsOf(childNodes(plan, node, relative)));
  assert.deepEqual(below, [
    [],
    ["問候.py | src", "pytest -q | exit 0 · 2.5 s"],
    [
      "python3 greet.py | exit 1 · 0.2 s",
      "issues: 作成 | effects outside · answered · 0.2 s",
      "找出問候語 | 審查 · reported · 1,200 tokens",
    ],
    [],
  ]);
});

test("a step's file is marked “to review” while its changes are undecided", () => {
  const plan = session(params<Plan>("plan"));
  const [file] = params<Edits>("edits").files;
  assert.ok(file);
  plan.edits = {
    ...params<Edits>("edits"),
    files: [{ ...file, uri: "file:///project/src/%E5%95%8F%E5%80%99.py", itemIds: ["1"], overtaken: [] }],
  };
  const done = topNodes(plan, relative)[1];
  assert.ok(done?.kind === "item" && done.reviewable);
  assert.deepEqual(rowsOf(childNodes(plan, done, relative)), [
    "問候.py | src · to review",
    "pytest -q | exit 0 · 2.5 s",
  ]);
});

test("a step says which later step changed its edits again", () => {
  const plan = session(params<Plan>("plan"));
  const [file] = params<Edits>("edits").files;
  assert.ok(file);
  const overtaken = [{ itemId: "1", byItemId: "2" }];
  plan.edits = {
    ...params<Edits>("edits"),
    files: [{ ...file, uri: "file:///project/src/%E5%95%8F%E5%80%99.py", itemIds: ["2"], overtaken }],
  };
  const done = topNodes(plan, relative)[1];
  assert.ok(done?.kind === "item" && !done.reviewable);
  assert.deepEqual(rowsOf([done]), ["Read 問候.py | 1 file changed since"]);
  assert.match(done.row.tooltip, /^Changed again by “翻譯問候語 👋”\.$/m);
  assert.equal(
    done.row.screenReaderLabel,
    "Read 問候.py, done, 1 file changed since it was verified by pytest -q, changed again by “翻譯問候語 👋”",
  );
  assert.deepEqual(rowsOf(childNodes(plan, done, relative)), [
    "問候.py | src · changed again by “翻譯問候語 👋”",
    "pytest -q | exit 0 · 2.5 s",
  ]);
});

test("without a plan one row has what the agent did, inferred and marked as such", () => {
  const plan = { ...params<Plan>("plan.empty"), inferred: ["Look around", "Write a.txt"] };
  const [row, ...others] = topNodes(session(plan), relative);
  assert.ok(row && others.length === 0);
  assert.deepEqual(rowsOf([row]), ["Inferred steps | 2 · Write a.txt"]);
  assert.deepEqual(rowsOf(childNodes(session(plan), row, relative)), ["Look around | ", "Write a.txt | "]);
});

test("the time of the step in progress continues from the server's last count, and restarts for another step", () => {
  let now = 0;
  const clock = new StepClock(() => now);
  const elapsed = (id: string, seconds: number): number =>
    clock.elapsed("s", step({ id, evidence: { ...step({}).evidence, seconds } }));
  assert.equal(elapsed("1", 3), 3);
  now = 2000;
  assert.equal(elapsed("1", 3), 5);
  assert.equal(elapsed("1", 4.5), 4.5);
  now = 3000;
  assert.deepEqual([elapsed("1", 4.5), elapsed("2", 0)], [5.5, 0]);
});

test("durations are short: seconds, minutes, hours", () => {
  assert.deepEqual([0.42, 9.96, 12.3, 185, 3725].map(duration), ["0.4 s", "10 s", "12 s", "3 min 5 s", "1 h 2 min"]);
});

test("costs and token counts are short, and the use of the context window is a sentence", () => {
  const usage = params<UsageEvent>("event.usage");
  assert.deepEqual([850, 34_400, 999_600, 1_240_000].map(shortCount), ["850", "34k", "1.0M", "1.2M"]);
  assert.equal(usageSummary({ ...usage, costUsd: 0.123 }), "$0.12 · 10k");
  assert.equal(usageSummary({ ...usage, costUsd: 0.004 }), "<$0.01 · 10k");
  assert.equal(usageSummary({ ...usage, costUsd: 0 }), "$0.00 · 10k");
  assert.equal(usageSummary({ ...usage, costUsd: null }), "10k");
  const unused = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
  assert.equal(usageSummary({ ...usage, ...unused, costUsd: null }), "");
  assert.equal(
    contextUsage({ ...usage, contextTokens: 34_000, contextLimit: 200_000 }),
    "The conversation uses 34,000 tokens, 17% of the model's context window.",
  );
  assert.equal(
    contextUsage({ ...usage, contextTokens: 34_000, contextLimit: null }),
    "The conversation uses 34,000 tokens; the size of the model's context window is unknown.",
  );
});

test("the count shows the completed and all steps, and is empty without a plan", () => {
  const plan = params<Plan>("plan");
  assert.equal(planCount(plan), `${plan.completed}/${plan.total}`);
  assert.equal(planCount(params<Plan>("plan.empty")), "");
  assert.equal(planCount(undefined), "");
});

const problem: Diagnostic = {
  range: { start: { line: 0, character: 4 }, end: { line: 0, character: 9 } },
  severity: 1,
  message: "Wrong.",
  source: "ts",
};

test("a step says how many errors its proposed changes cause, whatever else supports it", () => {
  const done = stepRow(step({ status: "completed", verification: "marked", newErrors: 2 }), "idle", relative);
  assert.deepEqual([done.icon, done.color, done.description], ["error", "charts.red", "2 errors · marked by you"]);
  assert.match(done.tooltip, /^Its proposed changes cause 2 errors\.$/m);
  assert.match(done.screenReaderLabel, /, 2 errors$/);
  const doing = stepRow(step({ status: "in_progress", verification: "none", newErrors: 1 }), "working", relative);
  assert.deepEqual([doing.icon, doing.description], ["sync~spin", "1 error · Stepping"]);
});

test("a step's files say which problems their proposed texts have", () => {
  const plan = session(params<Plan>("plan"));
  const edits = params<Edits>("edits");
  const files = edits.files.map((file) => ({ ...file, problems: [problem] }));
  plan.edits = { ...edits, files };
  const [first] = topNodes(plan, relative).filter((node) => node.kind === "item");
  assert.ok(first);
  const [file] = childNodes(plan, first, relative);
  assert.ok(file && "row" in file);
  assert.match(file.row.description, /^src · 1 error/);
  assert.match(file.row.tooltip, /^Line 1: Wrong\.$/m);
});

test("a restored session names the steps whose verification no longer holds", () => {
  const uri = (name: string): string => `file:///project/${name}`;
  const items = [
    step({ id: "1", content: "Parse", verification: "stale", changedSince: [uri("a.py"), uri("b.py")] }),
    step({ id: "2", content: "Write", verification: "verified" }),
    step({ id: "3", content: "Test", verification: "failed" }),
    step({ id: "4", content: "Look", verification: "looked" }),
  ];
  const plan = (lapsed: string[]): Plan => ({ ...params<Plan>("plan"), items, lapsed });
  assert.equal(
    lapsedText(plan(["1", "3"]), relative),
    "No longer verified (2 of 3 steps): Parse (a.py and 1 file changed), Test (its check fails now)",
  );
  assert.equal(lapsedText(plan([]), relative), "");
});

test("a broken verification names the change that broke it", () => {
  const file = "file:///project/parser.py";
  const none = { maker: "user", itemId: null, files: [file], firstLine: 0, lastLine: 0 } as const;
  const note = (brokenBy: PlanItem["brokenBy"]): string =>
    stepRow(
      step({
        status: "completed",
        verification: "failed",
        decidedBy: "pytest",
        changedSince: [],
        newErrors: 0,
        brokenBy,
      }),
      "idle",
      relative,
    ).description;
  assert.equal(note(null), "failed: pytest");
  assert.equal(note(none), "broken by your own edit in parser.py · failed: pytest");
  assert.equal(
    note({ ...none, maker: "agent", itemId: "4", firstLine: 40, lastLine: 52 }),
    "broken by the agent's change of parser.py, lines 40-52 in step 4 · failed: pytest",
  );
  assert.equal(
    note({ ...none, maker: "decision", firstLine: 3, lastLine: 3 }),
    "broken by your decision on parser.py, line 3 · failed: pytest",
  );
  assert.equal(
    note({ ...none, maker: "unknown", files: [file, "file:///project/a.py"] }),
    "broken by a change of parser.py and 1 file · failed: pytest",
  );
});
