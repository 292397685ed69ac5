import assert from "node:assert/strict";
import { test } from "node:test";
import { resultToShow } from "../src/features/plan/checkResults";
import type { CheckResult } from "../src/wire/protocolStates";

const result = (command: string, passed: boolean | null, proves = false): CheckResult => ({
  toolCallId: "check-1.1",
  itemId: null,
  command,
  changes: "none",
  passed,
  exitCode: passed ? 0 : 1,
  seconds: 1,
  accepted: 0,
  total: 1,
  proves,
  outdated: false,
  verdict: "",
  message: command,
});

const shown = (...results: CheckResult[]): unknown => {
  const found = resultToShow(results);
  return found && [found.result.command, found.isProblem];
};
const passes = result("passes", true);
const fails = result("fails", false);
const proves = result("proves", false, true);
const stopped = result("stopped", null);

test("of several checks, the message shows one that failed, or else one without a result", () => {
  assert.deepEqual(shown(passes, stopped, fails, passes), ["fails", true]);
  assert.deepEqual(shown(proves, stopped, passes), ["stopped", true]);
  assert.deepEqual(shown(proves, fails), ["fails", true]);
});

test("without problems, the message shows a proof, wherever it is in the list, or else the last result", () => {
  assert.deepEqual(shown(proves, passes), ["proves", false]);
  assert.deepEqual(shown(passes, proves, passes), ["proves", false]);
  assert.deepEqual(shown(result("first", true), result("last", true)), ["last", false]);
  assert.equal(shown(), undefined);
});
