import assert from "node:assert/strict";
import { test } from "node:test";
import { Readiness, type Clock } from "../src/code/readiness";

/** A clock that moves when its `sleep` is called, and a language that finds something once it is ready. */
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

test("finding nothing is an answer after five seconds, and from then on at once", async () => {
  const { readiness, ask, asked } = setup(Infinity);
  assert.deepEqual(await readiness.ask("plaintext", ask, never), []);
  assert.equal(asked.at(-1), 5000);
  const before = asked.length;
  assert.deepEqual(await readiness.ask("plaintext", ask, never), []);
  assert.equal(asked.length, before + 1);
});

test("after the support of a language has found something, finding nothing is an answer at once", async () => {
  const { readiness, ask, asked } = setup(0);
  await readiness.ask("typescript", ask, never);
  const nothing = setup(Infinity);
  await readiness.ask("typescript", nothing.ask, never);
  assert.deepEqual([asked, nothing.asked], [[0], [0]]);
});

test("a cancelled request is not asked again", async () => {
  const { readiness, ask, asked } = setup(Infinity);
  await readiness.ask("typescript", ask, () => asked.length === 2);
  assert.equal(asked.length, 2);
});
