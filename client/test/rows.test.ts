import assert from "node:assert/strict";
import { test } from "node:test";
import { editRows, pendingFiles, type EditRow } from "../src/editRows";
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

test("a file's hunks are named by their lines; a new file is taken as a whole", () => {
  const rows = editRows(sessions("a"), undefined, relative);
  const modified = rows.find((row) => row.kind === "file" && row.file.kind === "modify");
  const created = rows.find((row) => row.kind === "file" && row.file.kind === "create");
  assert.deepEqual(editRows(sessions("a"), modified, relative).map(label), ["Line 2", "Line 6"]);
  assert.deepEqual(editRows(sessions("a"), created, relative), []);
  assert.match(created?.description ?? "", /new/);
});
