import assert from "node:assert/strict";
import { test } from "node:test";
import { childRows } from "../src/features/review/editRows";
import { neededMark, unneededChanges } from "../src/ui/changeTexts";
import { Store } from "../src/state/store";
import type { ChangeId, Edits, NeededChanges } from "../src/wire/protocolStates";
import { params } from "./goldens";

const uri = "file:///project/a.py";
const change = (hunk: string | null): ChangeId => ({ uri, hunk });
const found = (more: Partial<NeededChanges>): NeededChanges => ({
  commands: ["pytest -q"],
  outcome: "complete",
  runs: 4,
  version: 5,
  needed: [],
  notNeeded: [],
  unread: [],
  untried: [],
  message: "",
  ...more,
});
const relative = (given: string): string => decodeURIComponent(given.replace("file:///project/", ""));

test("the rows of the changes say last what the check says about them", () => {
  const store = new Store();
  const edits = params<Edits>("edits.needed");
  store.startRun(edits.sessionId, "Greet");
  store.setEdits(edits);
  const hunks = childRows(store.reviewable, undefined, relative)
    .flatMap((row) => childRows(store.reviewable, row, relative))
    .flatMap((row) => (row.kind === "hunk" ? [row] : []));
  assert.deepEqual(
    hunks.map(({ description }) => description.split(" · ")[1]),
    ["needed by pytest -q", "passes without it"],
  );
  assert.deepEqual(
    hunks.map(({ tooltip }) => tooltip.split("\n").at(-1)),
    ["pytest -q fails without this change.", "pytest -q passes without this change alone."],
  );
});

test("a mark is about one check or several", () => {
  const two = found({ commands: ["a", "b"], needed: [change("1")], notNeeded: [change("2")], unread: [change(null)] });
  assert.equal(neededMark(two, uri, "1")?.words, "needed by the checks");
  assert.equal(neededMark(two, uri, "2")?.words, "checks pass without it");
  assert.equal(neededMark(two, uri, null)?.words, "not read by any check");
  assert.equal(neededMark(found({ unread: [change("3")] }), uri, "3")?.words, "not read by the check");
  assert.equal(neededMark(found({ untried: [change("4")] }), uri, "4"), undefined);
  assert.equal(neededMark(null, uri, "1"), undefined);
});

test("a step names the changes without which its tick would stay", () => {
  const edits = params<Edits>("edits.needed");
  const [hunk] = edits.files.flatMap((file) => file.hunks.filter(({ id }) => id === edits.needed?.notNeeded[0]?.hunk));
  assert.ok(hunk?.itemId);
  assert.equal(unneededChanges(hunk.itemId, edits, relative).length, 1);
  assert.deepEqual(unneededChanges("other", edits, relative), []);
  assert.deepEqual(unneededChanges(hunk.itemId, { ...edits, needed: null }, relative), []);
});
