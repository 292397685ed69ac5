import assert from "node:assert/strict";
import { test } from "node:test";
import { childNodes, planRowContent, planRowId, topNodes, type PlanNode } from "../src/plan/planNodes";
import { editRows, rowId, type EditRow } from "../src/review/editRows";
import { changedRows, comparableRows, shownArgument, TreeRow, type ComparableRow, type Tree } from "../src/ui/treeRow";
import type { CommandStarted, Edits, Evidence, FileEdits, Plan, PlanItem } from "../src/protocol";
import type { Session } from "../src/session";
import { Store } from "../src/state";
import { params } from "./goldens";

const relative = (uri: string): string => uri;
const golden = params<Edits>("edits");
const plan = params<Plan>("plan");

function edits(files: readonly FileEdits[], ...sessions: string[]): ComparableRow<EditRow>[] {
  const store = new Store();
  for (const id of sessions.length > 0 ? sessions : ["a"]) {
    store.startRun(id, `Task ${id}`);
    store.setEdits({ ...golden, sessionId: id, files: [...files] });
  }
  const tree: Tree<EditRow> = {
    rows: (row) => editRows(store.reviewable, row, relative),
    rowId,
    rowContent: (row) => row,
  };
  return comparableRows(tree);
}

function steps(change?: (store: Store) => void): ComparableRow<PlanNode>[] {
  const store = new Store();
  store.startRun(plan.sessionId, "Task");
  store.setPlan(plan);
  change?.(store);
  const session = (): Session => {
    assert.ok(store.active);
    return store.active;
  };
  return comparableRows<PlanNode>({
    rows: (node) => (node ? childNodes(session(), node, relative) : topNodes(session(), relative)),
    rowId: (node) => planRowId(node, relative),
    rowContent: planRowContent,
  });
}

const [withHunks] = golden.files.filter(({ kind, hunks }) => kind === "modify" && hunks.length > 0);
const [aHunk] = withHunks?.hunks ?? [];
assert.ok(withHunks && aHunk);

test("nothing is refreshed if nothing changed", () => {
  assert.deepEqual(changedRows(edits(golden.files), edits(golden.files)), []);
  assert.deepEqual(changedRows(steps(), steps()), []);
});

test("only the file that changed is refreshed, so that the rows of the others stay valid", () => {
  for (const { uri } of golden.files) {
    const files = golden.files.map((file) => (file.uri === uri ? { ...file, additions: file.additions + 1 } : file));
    assert.deepEqual(changedRows(edits(golden.files), edits(files)), [`a ${uri}`]);
    const two = changedRows(edits(golden.files, "a", "b"), edits(files, "a", "b"));
    assert.deepEqual(two, [`b ${uri}`, `a ${uri}`]);
  }
});

test("a file whose hunks were added, removed or moved is refreshed with them", () => {
  const of = (...ids: string[]): ComparableRow<EditRow>[] => {
    const hunks = ids.map((id) => ({ ...aHunk, id }));
    return edits(golden.files.map((file) => (file === withHunks ? { ...file, hunks } : file)));
  };
  for (const after of [of("1"), of("1", "2", "3"), of("2", "1")])
    assert.deepEqual(changedRows(of("1", "2"), after), [`a ${withHunks.uri}`]);
});

test("a top row that was added, removed or moved needs a refresh of the whole tree", () => {
  const [first, ...others] = golden.files as [FileEdits, ...FileEdits[]];
  assert.equal(changedRows(edits([]), edits(golden.files)), "all");
  assert.equal(changedRows(edits(golden.files), edits(others)), "all");
  assert.equal(changedRows(edits(golden.files), edits([...others, first])), "all");
});

const withPlan = (other: Plan) => (store: Store) => {
  store.setPlan(other);
};
const none: Evidence = { files: [], commands: [], looks: 0, seconds: 0, tokens: 0, costUsd: 0 };

/** The plan with other fields in one step. */
const withStep = (id: string | null, fields: Partial<PlanItem>): Plan => ({
  ...plan,
  revision: plan.revision + 1,
  version: plan.version + 1,
  items: plan.items.map((item) => (item.id === id ? { ...item, ...fields } : item)),
});

test("a change of one step refreshes this step, although every step has a new revision of the plan", () => {
  const reworded = withStep("1", { content: "Another text" });
  assert.deepEqual(changedRows(steps(), steps(withPlan(reworded))), ["item-1"]);
});

test("a step that gets its first row below has another id, because VS Code would not expand it", () => {
  const started = params<CommandStarted>("event.command");
  const bare = withStep(started.itemId, {
    status: "in_progress",
    evidence: none,
  });
  const before = steps(withPlan(bare));
  const after = steps((store) => {
    store.setPlan(bare);
    store.addEvent(started);
  });
  assert.equal(changedRows(before, after), "all");
});

test("the comparison of a file with many hunks stays small, because they share the file", () => {
  const hunks = Array.from({ length: 2000 }, (_, id) => ({ ...aHunk, id: `${id}` }));
  const [row] = edits([{ ...withHunks, hunks }]);
  assert.equal(row?.below.length, 2000);
  const size = [row, ...row.below].reduce((sum, { content }) => sum + content.length, 0);
  assert.ok(size < 5 * JSON.stringify(hunks).length);
});

test("a command gets what the user saw of its row, even if the row has changed since", () => {
  const row = new TreeRow("id", "as VS Code got it");
  assert.equal(shownArgument(row), "as VS Code got it");
  for (const other of [undefined, "a URI", { kind: "file" }]) assert.equal(shownArgument(other), other);
});
