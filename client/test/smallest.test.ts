import assert from "node:assert/strict";
import { test } from "node:test";
import { childRows } from "../src/features/review/editRows";
import { headline, markOfChange, markOfFile } from "../src/features/review/smallestMarks";
import type { ChangeId, Edits, FileEdits, SmallestSet } from "../src/wire/protocolStates";
import { Store } from "../src/state/store";
import { plainMessage } from "../src/ui/text";
import { params } from "./goldens";

const uri = "file:///project/a.py";
const change = (hunk: string | null): ChangeId => ({ uri, hunk });
const found = (needed: ChangeId[], notNeeded: ChangeId[], more: Partial<SmallestSet> = {}): SmallestSet => ({
  commands: ["pytest -q"],
  outcome: "minimal",
  runs: 9,
  version: 5,
  needed,
  notNeeded,
  message: "",
  ...more,
});

function file(...ids: string[]): FileEdits {
  const [first] = params<Edits>("edits").files;
  const hunk = first?.hunks[0];
  assert.ok(first && hunk);
  return { ...first, uri, hunks: ids.map((id) => ({ ...hunk, id })) };
}

test("the rows of the changes say whether the check needs them", () => {
  const store = new Store();
  const edits = params<Edits>("edits.smallest");
  store.startRun(edits.sessionId, "Greet");
  store.setEdits(edits);
  const relative = (given: string): string => decodeURIComponent(given.replace("file:///project/", ""));
  const rows = childRows(store.reviewable, undefined, relative).flatMap((row) => [
    row,
    ...childRows(store.reviewable, row, relative),
  ]);
  const said = rows.flatMap((row) =>
    row.kind === "session" ? [] : [[row.kind, row.description.split(" · ").find((words) => words.includes("needed"))]],
  );
  assert.deepEqual(said, [
    ["file", "not needed by the check"],
    ["file", "1 of 2 needed by the check"],
    ["hunk", "needed by the check"],
    ["hunk", "not needed by the check"],
  ]);
});

test("a mark says what would happen without the change", () => {
  const minimal = found([change("1")], [change("2"), change(null)]);
  assert.deepEqual(markOfChange(minimal, uri, "1"), {
    words: "needed by the check",
    sentence: "pytest -q fails without this change.",
  });
  assert.deepEqual(markOfChange(minimal, uri, null), {
    words: "not needed by the check",
    sentence: "pytest -q passes without this change. Review it carefully.",
  });
  assert.equal(markOfChange(minimal, uri, "3"), undefined, "proposed since");
  assert.equal(markOfChange(null, uri, "1"), undefined);
  const early = found([change("1")], [change("2")], { outcome: "limit", commands: ["npm test", "npm run lint"] });
  assert.equal(markOfChange(early, uri, "1")?.words, "may be needed by the checks");
  assert.equal(markOfChange(early, uri, "2")?.sentence, "The checks pass without this change. Review it carefully.");
});

test("the mark of a file counts all of its changes", () => {
  const minimal = found([change("1")], [change("2"), change("3")]);
  assert.equal(markOfFile(minimal, file("1", "2", "3"))?.words, "1 of 3 needed by the check");
  assert.equal(markOfFile(minimal, file("2", "3"))?.words, "not needed by the check");
  assert.equal(markOfFile(minimal, file("1"))?.words, "needed by the check");
  assert.equal(markOfFile(minimal, file("1", "4")), undefined, "one of them is not part of the result");
  assert.equal(
    markOfFile({ ...minimal, outcome: "stopped" }, file("1", "2"))?.words,
    "1 of 2 may be needed by the check",
  );
});

test("the view says how many of the changes are needed", () => {
  const [one, others] = [[change("1")], [change("2"), change("3")]];
  assert.equal(headline(found(one, others)), "1 of 3 changes needed by the check");
  assert.equal(headline(found(one, others, { outcome: "stopped" })), "1 of 3 changes may be needed by the check");
  assert.equal(headline(found([], others)), "2 changes, not needed by the check");
});

test("a message from the server is shown as plain text", () => {
  assert.equal(plainMessage("`echo`  fails"), "echo  fails");
});
