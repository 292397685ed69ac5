import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { REQUEST_LIMIT_MS, RefreshGuard } from "../src/ui/refreshGuard";

/** A guard on a simulated clock, with the number of refreshes that it has sent. */
function guarded(isVisible: () => boolean = () => true): {
  guard: RefreshGuard;
  sent: () => number;
  pass: (milliseconds: number) => void;
} {
  let [now, sent] = [0, 0];
  const guard = new RefreshGuard(
    () => {
      sent += 1;
    },
    isVisible,
    () => now,
  );
  const pass = (milliseconds: number): void => {
    now += milliseconds;
    mock.timers.tick(milliseconds);
  };
  return { guard, sent: () => sent, pass };
}

test.beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
});
test.afterEach(() => {
  mock.timers.reset();
});

test("a refresh that VS Code answers with a request for rows is sent once", () => {
  const { guard, sent, pass } = guarded();
  guard.refresh();
  pass(30);
  guard.rowsRequested();
  pass(10 * REQUEST_LIMIT_MS);
  assert.equal(sent(), 1);
});

test("a refresh that VS Code lost is repeated until the rows are requested", () => {
  const { guard, sent, pass } = guarded();
  guard.refresh();
  pass(REQUEST_LIMIT_MS);
  pass(REQUEST_LIMIT_MS);
  assert.equal(sent(), 3);
  guard.rowsRequested();
  pass(10 * REQUEST_LIMIT_MS);
  assert.equal(sent(), 3);
});

test("a request that answers an earlier refresh does not count for a later refresh that VS Code has delayed", () => {
  const { guard, sent, pass } = guarded();
  guard.refresh();
  pass(20);
  guard.refresh();
  pass(20);
  guard.rowsRequested();
  pass(REQUEST_LIMIT_MS);
  assert.equal(sent(), 3);
});

test("the refresh of a hidden tree is repeated only if VS Code does not request the rows after the tree is shown", () => {
  let visible = false;
  const { guard, sent, pass } = guarded(() => visible);
  guard.refresh();
  pass(10 * REQUEST_LIMIT_MS);
  visible = true;
  guard.treeShown();
  pass(REQUEST_LIMIT_MS - 1);
  assert.equal(sent(), 1);
  pass(1);
  assert.equal(sent(), 2);
  guard.rowsRequested();
  guard.treeShown();
  pass(10 * REQUEST_LIMIT_MS);
  assert.equal(sent(), 2);
});
