import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Analyses } from "../src/features/code/analysis";

/** Analyses with a simulated clock, and a function that reports problems. */
function setup(): {
  analyses: Analyses;
  report: (...files: string[]) => void;
  listeners: () => number;
  hasEnded: (file: string) => Promise<boolean>;
} {
  const listeners = new Set<(files: readonly string[]) => void>();
  const analyses = new Analyses((listener) => {
    listeners.add(listener);
    return { dispose: () => listeners.delete(listener) };
  });
  return {
    analyses,
    report: (...files) => {
      for (const listener of listeners) listener(files);
    },
    listeners: () => listeners.size,
    hasEnded: async (file) => {
      let ended = false;
      void analyses.whenEnded(file).then(() => (ended = true));
      await setImmediate();
      return ended;
    },
  };
}

test.beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
});
test.afterEach(() => {
  mock.timers.reset();
});

test("an analysis ends half a second after the last report about its file", async () => {
  const { analyses, report, listeners, hasEnded } = setup();
  analyses.begin("a");
  analyses.begin("a");
  for (let part = 0; part < 3; part++) {
    mock.timers.tick(400);
    report("a", "b");
    assert.equal(await hasEnded("a"), false);
  }
  mock.timers.tick(300);
  report("b");
  mock.timers.tick(200);
  assert.equal(await hasEnded("a"), true);
  assert.equal(listeners(), 0);
});

test("an analysis with no report, or with one report after another, ends after three seconds", async () => {
  const { analyses, report, hasEnded } = setup();
  analyses.begin("quiet");
  analyses.begin("busy");
  for (let time = 100; time < 3000; time += 100) {
    mock.timers.tick(100);
    report("busy");
  }
  assert.deepEqual([await hasEnded("quiet"), await hasEnded("busy")], [false, false]);
  mock.timers.tick(100);
  assert.deepEqual([await hasEnded("quiet"), await hasEnded("busy")], [true, true]);
});

test("a file that was opened long ago has no analysis to wait for", async () => {
  const { analyses, hasEnded } = setup();
  assert.equal(await hasEnded("a"), true);
  analyses.begin("a");
  mock.timers.tick(3000);
  assert.equal(await hasEnded("a"), true);
});
