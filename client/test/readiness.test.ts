import assert from "node:assert/strict";
import { test } from "node:test";
import { Readiness, type Clock } from "../src/features/code/readiness";

/** A clock that only `sleep` moves, and language support that finds something once it is ready. */
function setup(readyAfter: number): { readiness: Readiness; ask: () => Promise<string[]>; asked: number[] } {
  let time = 0;
  const clock: Clock = {
    now: () => time,
    sleep: (milliseconds) => {
      time += milliseconds;
      return Promise.resolve();
    },
  };
  const asked: number[] = [];
  const ask = (): Promise<string[]> => {
    asked.push(time);
    return Promise.resolve(time >= readyAfter ? ["found"] : []);
  };
  return { readiness: new Readiness(clock), ask, asked };
}
const never = (): boolean => false;

test("language support that is starting is asked again until it finds something", async () => {
  const { readiness, ask, asked } = setup(1000);
  assert.deepEqual(await readiness.ask("typescript", ask, never), ["found"]);
  assert.deepEqual(asked, [0, 100, 300, 700, 1500]);
});

test("an empty result is accepted after five seconds, and from then on at once", async () => {
  const { readiness, ask, asked } = setup(Infinity);
  assert.deepEqual(await readiness.ask("plaintext", ask, never), []);
  assert.equal(asked.at(-1), 5000);
  const before = asked.length;
  assert.deepEqual(await readiness.ask("plaintext", ask, never), []);
  assert.equal(asked.length, before + 1);
});

test("after language support has found something, an empty result is accepted at once", async () => {
  const { readiness, ask, asked } = setup(0);
  await readiness.ask("typescript", ask, never);
  const nothing = setup(Infinity);
  await readiness.ask("typescript", nothing.ask, never);
  assert.deepEqual([asked, nothing.asked], [[0], [0]]);
});

test("language support is not asked again after a cancellation", async () => {
  const { readiness, ask, asked } = setup(Infinity);
  await readiness.ask("typescript", ask, () => asked.length === 2);
  assert.equal(asked.length, 2);
});
