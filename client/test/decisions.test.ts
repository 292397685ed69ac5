import assert from "node:assert/strict";
import { test } from "node:test";
import { DecisionHistory, stepCount } from "../src/state/decisions";
import type { Outcome } from "../src/wire/protocol";
import type { Edits } from "../src/wire/protocolStates";
import { allWasShown, hasNoProposalsLeft } from "../src/features/review/staleness";
import { Store } from "../src/state/store";
import { params } from "./goldens";

const all = (): boolean => true;

test("undo applies to the last decision in any session, and redo to the last undo", () => {
  const decisions = new DecisionHistory();
  for (const id of ["a", "b", "a"]) decisions.record([], id);
  const undone = [1, 2].map(() => {
    const steps = decisions.pop("undo", all);
    decisions.push("undo", steps, []);
    return steps;
  });
  assert.deepEqual(undone, [["a"], ["b"]]);
  assert.deepEqual(decisions.pop("redo", all), ["b"]);
});

test("a decision about several sessions is undone as one, last step first, and redone as one, first step first", () => {
  const decisions = new DecisionHistory();
  decisions.record([], "a");
  const both: string[] = [];
  decisions.record(both, "b");
  decisions.record(both, "a", 2);
  const back = decisions.pop("undo", all);
  assert.deepEqual(back, ["a", "a", "b"]);
  decisions.push("undo", back, []);
  const again = decisions.pop("redo", all);
  assert.deepEqual(again, ["b", "a", "a"]);
  decisions.push("redo", again, []);
  assert.deepEqual(decisions.pop("undo", all), ["a", "a", "b"]);
  assert.deepEqual(decisions.pop("undo", all), ["a"]);
});

test("a step that could not be undone stays the next undo, and a deleted session is skipped", () => {
  const decisions = new DecisionHistory();
  const both: string[] = [];
  for (const id of ["a", "b"]) decisions.record(both, id);
  decisions.record([], "deleted");
  const there = (id: string): boolean => id !== "deleted";
  assert.deepEqual(decisions.pop("undo", there), ["b", "a"]);
  decisions.push("undo", ["a"], ["b"]);
  assert.deepEqual([decisions.pop("undo", there), decisions.pop("redo", there)], [["b"], ["a"]]);
});

test("a decision that changed nothing has no steps, and protected files are a separate step", () => {
  const edits = params<Edits>("edits");
  const [file] = edits.files;
  assert.ok(file);
  const outcome = (uri: string, of: Outcome["outcome"]): Outcome => ({
    uri,
    hunk: null,
    outcome: of,
    message: "",
    texts: [],
  });
  const before = { ...edits, files: [file, { ...file, uri: "file:///ci.yml", protected: true }] };
  const steps = (...outcomes: Outcome[]): number => stepCount({ outcomes, edits }, before);
  assert.equal(steps(outcome(file.uri, "failed"), outcome(file.uri, "conflict")), 0);
  assert.equal(steps(outcome(file.uri, "applied"), outcome(file.uri, "applied")), 1);
  assert.equal(steps(outcome(file.uri, "applied"), outcome("file:///ci.yml", "applied")), 2);
  assert.equal(steps(outcome(file.uri, "rejected"), outcome("file:///ci.yml", "rejected")), 1);
  const decisions = new DecisionHistory();
  decisions.record([], "a", 0);
  assert.deepEqual(decisions.pop("undo", all), []);
});

test("a subset of the shown changes counts as shown; other changes, other files and binary files do not", () => {
  const edits = params<Edits>("edits");
  const file = edits.files.find(({ hunks, kind }) => kind === "modify" && hunks.length > 0);
  const [hunk] = file?.hunks ?? [];
  assert.ok(file && hunk);
  const proposed = (...hunks: string[]): Edits => ({
    ...edits,
    files: [{ ...file, hunks: hunks.map((id) => ({ ...hunk, id })) }],
  });
  const shown = proposed("1", "2");
  assert.deepEqual(
    [proposed("1", "2"), proposed("2"), { ...edits, files: [] }].map((now) => allWasShown(shown, now)),
    [true, true, true],
  );
  assert.deepEqual(
    [proposed("1", "3"), { ...edits, files: [{ ...file, uri: "file:///other" }] }].map((now) =>
      allWasShown(shown, now),
    ),
    [false, false],
  );
  const [created] = proposed("1").files.map((one): Edits["files"][number] => ({ ...one, kind: "create" }));
  assert.ok(created);
  assert.equal(allWasShown(shown, { ...edits, files: [created] }), false);
  const binary = { ...edits, files: [{ ...file, hunks: [], binary: true }] };
  assert.equal(allWasShown(binary, binary), false);
});

test("a session of an earlier window has no proposals left if it is decided or gone, unless another server has it", () => {
  const store = new Store();
  const model = { endpoint: "anthropic", model: "m", effort: "" };
  const state = (pendingFiles: number, openElsewhere = false): boolean => {
    const row = { title: "Task", updatedAt: "2026-01-01T00:00:00Z", phase: "idle", completed: 0, total: 0 } as const;
    store.setRows([
      { ...row, sessionId: "s", ended: null, tokens: 0, costUsd: null, pendingFiles, model, openElsewhere },
    ]);
    return hasNoProposalsLeft(store.get("s"), true);
  };
  assert.deepEqual([hasNoProposalsLeft(undefined, false), hasNoProposalsLeft(undefined, true)], [true, false]);
  assert.deepEqual([state(0), state(2), state(0, true)], [true, false, false]);
});
