import assert from "node:assert/strict";
import { test } from "node:test";
import { allRows, editRows, newName, pendingFiles, rowAbove, rowBeside, type EditRow } from "../src/editRows";
import { planCount, planRows } from "../src/planRows";
import type { Edits, Plan } from "../src/protocol";
import { Store, type Session } from "../src/state";
import { params } from "./goldens";

const relative = (uri: string): string => decodeURIComponent(uri.replace("file:///project/", ""));

function sessions(...ids: string[]): Session[] {
  const store = new Store();
  for (const id of ids) {
    store.begin(id, `Task ${id}`);
    store.setEdits({ ...params<Edits>("edits"), sessionId: id });
  }
  return [...store.reviewable];
}

const rowOf = (rows: readonly EditRow[], name: string): EditRow | undefined => rows.find((row) => row.kind === "file" && relative(row.file.uri) === name);
const label = (row: EditRow | undefined): string => (row?.kind === "file" ? relative(row.file.uri) : (row?.label ?? ""));

test("each state of an item has its icon, its colour and its word for a screen reader", () => {
  const rows = planRows(params<Plan>("plan"), true);
  const looks = Object.fromEntries(rows.map((row) => [row.spoken.split(", ").at(-1) ?? "", [row.icon, row.color]]));
  assert.deepEqual(looks, {
    completed: ["pass-filled", "charts.green"],
    "in progress": ["sync~spin", "charts.blue"],
    pending: ["circle-large-outline", undefined],
  });
  const current = rows.find((row) => row.icon === "sync~spin");
  assert.equal(current?.description, "正在翻譯問候語");
});

test("an item in progress does not turn once the run is over", () => {
  assert.ok(planRows(params<Plan>("plan"), false).every((row) => row.icon !== "sync~spin"));
});

test("the count is completed of total, and nothing without a plan", () => {
  const plan = params<Plan>("plan");
  assert.equal(planCount(plan), `${plan.completed}/${plan.total}`);
  assert.equal(planCount(params<Plan>("plan.empty")), "");
  assert.equal(planCount(undefined), "");
});

test("one session's files are at the top; several sessions' files stand below their tasks", () => {
  const [only] = [editRows(sessions("a"), undefined, relative)];
  assert.ok(only.every((row) => row.kind === "file"));
  const two = sessions("a", "b");
  const roots = editRows(two, undefined, relative);
  assert.deepEqual(roots.map(label), ["Task b", "Task a"]);
  assert.ok(editRows(two, roots[0], relative).every((row) => row.kind === "file" && row.sessionId === "b"));
  assert.equal(pendingFiles(two), 2 * only.length);
});

test("a file's hunks are named by their lines; what is created, deleted or renamed is taken as a whole", () => {
  const rows = editRows(sessions("a"), undefined, relative);
  const below = (name: string): string[] => editRows(sessions("a"), rowOf(rows, name), relative).map(label);
  assert.deepEqual(below("src/問候.py"), ["Line 2", "Line 6"]);
  assert.deepEqual([below("docs/new file.md"), below("alt.txt")], [[], []]);
});

test("what a change does and what is risky in it stands beside the name", () => {
  const rows = editRows(sessions("a"), undefined, relative);
  assert.match(rowOf(rows, "docs/new file.md")?.description ?? "", /new/);
  assert.match(rowOf(rows, "alt.txt")?.description ?? "", /^deletion · /);
  assert.match(rowOf(rows, "setup.cfg")?.description ?? "", /configuration · conflict/);
});

test("a renamed file says its new name, with the folder where that is another one", () => {
  const [file] = params<Edits>("edits").files;
  assert.ok(file);
  const renamed = (to: string): string => newName({ ...file, uri: "file:///project/a/old", newUri: `file:///project/${to}` }, relative);
  assert.deepEqual([renamed("a/new"), renamed("b/old")], ["new", "b/old"]);
});

test("once a row is gone the next one has its turn, past what stood below it, or else the one before", () => {
  const rows = allRows(sessions("a"), relative);
  const labels = rows.map(label);
  const at = (index: number): EditRow => {
    const row = rows.at(index);
    assert.ok(row);
    return row;
  };
  const beside = (index: number): string => label(rowBeside(rows, at(index)));
  const file = labels.indexOf("src/問候.py");
  assert.deepEqual(labels.slice(file, file + 4), ["src/問候.py", "Line 2", "Line 6", "docs/new file.md"]);
  assert.deepEqual([beside(file), beside(file + 1), beside(file + 2)], ["docs/new file.md", "Line 6", "docs/new file.md"]);
  assert.equal(beside(rows.length - 1), label(at(-2)));
  assert.equal(label(rowAbove(rows, at(file + 1))), "src/問候.py");
  assert.equal(rowAbove(rows, at(file)), undefined);
});
