import assert from "node:assert/strict";
import { test } from "node:test";
import { Decisions, stepsOf } from "../src/review/decisions";
import type { Edits, Outcome } from "../src/protocol";
import { nothingNew } from "../src/review/staleness";
import { params } from "./goldens";

const all = (): boolean => true;

test("an undo is of the last decision, whichever session it was in, and a redo of the last undo", () => {
  const decisions = new Decisions();
  for (const id of ["a", "b", "a"]) decisions.took([], id);
  const undone = [1, 2].map(() => {
    const steps = decisions.take("undo", all);
    decisions.put("undo", steps, []);
    return steps;
  });
  assert.deepEqual(undone, [["a"], ["b"]]);
  assert.deepEqual(decisions.take("redo", all), ["b"]);
});

test("a decision about several sessions goes back as one, the last step first, and forth as one, the first step first", () => {
  const decisions = new Decisions();
  decisions.took([], "a");
  const both: string[] = [];
  decisions.took(both, "b");
  decisions.took(both, "a", 2);
  const back = decisions.take("undo", all);
  assert.deepEqual(back, ["a", "a", "b"]);
  decisions.put("undo", back, []);
  const again = decisions.take("redo", all);
  assert.deepEqual(again, ["b", "a", "a"]);
  decisions.put("redo", again, []);
  assert.deepEqual(decisions.take("undo", all), ["a", "a", "b"]);
  assert.deepEqual(decisions.take("undo", all), ["a"]);
});

test("what could not be taken back is the next undo still, and a session that is gone is passed over", () => {
  const decisions = new Decisions();
  const both: string[] = [];
  for (const id of ["a", "b"]) decisions.took(both, id);
  decisions.took([], "gone");
  const there = (id: string): boolean => id !== "gone";
  assert.deepEqual(decisions.take("undo", there), ["b", "a"]);
  decisions.put("undo", ["a"], ["b"]);
  assert.deepEqual([decisions.take("undo", there), decisions.take("redo", there)], [["b"], ["a"]]);
});

test("a decision that changed nothing is none, and protected files are a step of their own", () => {
  const edits = params<Edits>("edits");
  const [file] = edits.files;
  assert.ok(file);
  const outcome = (uri: string, of: Outcome["outcome"]): Outcome => ({ uri, hunk: null, outcome: of, message: "" });
  const before = { ...edits, files: [file, { ...file, uri: "file:///ci.yml", protected: true }] };
  const steps = (...outcomes: Outcome[]): number => stepsOf({ outcomes, edits }, before);
  assert.equal(steps(outcome(file.uri, "failed"), outcome(file.uri, "conflict")), 0);
  assert.equal(steps(outcome(file.uri, "applied"), outcome(file.uri, "applied")), 1);
  assert.equal(steps(outcome(file.uri, "applied"), outcome("file:///ci.yml", "applied")), 2);
  assert.equal(steps(outcome(file.uri, "rejected"), outcome("file:///ci.yml", "rejected")), 1);
  const decisions = new Decisions();
  decisions.took([], "a", 0);
  assert.deepEqual(decisions.take("undo", all), []);
});

test("fewer of the changes that were shown are nothing new; another text of one is", () => {
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
    [proposed("1", "2"), proposed("2"), { ...edits, files: [] }].map((now) => nothingNew(shown, now)),
    [true, true, true],
  );
  assert.deepEqual(
    [proposed("1", "3"), { ...edits, files: [{ ...file, uri: "file:///other" }] }].map((now) => nothingNew(shown, now)),
    [false, false],
  );
  const [created] = proposed("1").files.map((one): Edits["files"][number] => ({ ...one, kind: "create" }));
  assert.ok(created);
  assert.equal(nothingNew(shown, { ...edits, files: [created] }), false);
  const binary = { ...edits, files: [{ ...file, hunks: [], binary: true }] };
  assert.equal(nothingNew(binary, binary), false);
});
