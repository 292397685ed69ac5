import assert from "node:assert/strict";
import { test } from "node:test";
import { method, type AgentEvent } from "../src/wire/protocol";
import type { Changed, Edits, Plan } from "../src/wire/protocolStates";
import { Store } from "../src/state/store";
import { golden, goldenNames, params } from "./goldens";

test("the client names every custom method of the goldens", () => {
  const custom = new Set(
    goldenNames()
      .map((name) => golden(name).method)
      .filter((name) => name.startsWith("agent/")),
  );
  assert.deepEqual(
    [...custom].filter((name) => !(Object.values(method) as string[]).includes(name)),
    [],
  );
});

test("the store handles every event of the goldens", () => {
  const store = new Store();
  const names = goldenNames().filter((name) => name.startsWith("event."));
  for (const name of names) store.addEvent(params<AgentEvent>(name));
  assert.ok(names.length > 0);
});

test("a difference applies only to the version that it starts from", () => {
  const store = new Store();
  const [plan, edits] = [params<Plan>("plan"), params<Edits>("edits")];
  const [planChanged, editsChanged] = [params<Changed>("plan.changed"), params<Changed>("edits.changed")];
  assert.equal(store.changePlan(planChanged), false);
  assert.equal(store.get(plan.sessionId), undefined);
  store.setPlan({ ...plan, version: 7 });
  store.setEdits({ ...edits, version: 5 });
  const before = store.get(plan.sessionId)?.edits?.files ?? [];
  assert.equal(store.changePlan(planChanged), true);
  assert.equal(store.changeEdits(editsChanged), true);
  assert.equal(store.changeEdits(editsChanged), false);
  const after = store.get(plan.sessionId);
  assert.equal(after?.plan?.version, 8);
  assert.deepEqual([after.edits?.version, after.edits?.redoLabel], [6, "Reject b.py"]);
  assert.equal(before.at(-1), after.edits?.files.at(-1), "a file that did not change stays the same object");
});

test("the store keeps the newest plan and edits, and ignores older ones", () => {
  const store = new Store();
  const plan = params<Plan>("plan");
  store.setPlan(plan);
  store.setPlan({ ...plan, version: plan.version - 1, items: [] });
  assert.equal(store.get(plan.sessionId)?.plan, plan);
  const edits = params<Edits>("edits");
  store.setEdits(edits);
  store.setEdits({ ...edits, version: edits.version - 1, files: [] });
  assert.equal(store.get(edits.sessionId)?.edits, edits);
});
