import assert from "node:assert/strict";
import { test } from "node:test";
import { Offers } from "../src/context/offers";
import type { ServerOffer } from "../src/wire/protocolStates";

const OFFER: ServerOffer = { server: "wiki", prompts: [], resources: [] };

/** The offers of a server that answers each request with the next of these answers; undefined: it never answers. */
function offersOf(answers: readonly (readonly ServerOffer[] | Error | undefined)[], isInstalled = true) {
  const asked: object[] = [];
  const request = (params: object): Promise<readonly ServerOffer[]> => {
    const answer = answers[asked.push(params) - 1];
    if (answer instanceof Error) return Promise.reject(answer);
    return answer ? Promise.resolve(answer) : new Promise(() => undefined);
  };
  return { asked, offers: new Offers({ isInstalled: () => Promise.resolve(isInstalled) }, request) };
}

test("an answer is reused while the user types, but not for another session", async () => {
  const { asked, offers } = offersOf([[OFFER], []]);
  assert.deepEqual(await offers.of("a"), [OFFER]);
  assert.deepEqual(await offers.of("a"), [OFFER]);
  assert.deepEqual(await offers.of(undefined), []);
  assert.deepEqual(asked, [{ sessionId: "a" }, {}]);
});

test("without an answer nothing is offered, and completions do not wait for it", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { offers } = offersOf([new Error("no session"), undefined]);
  assert.deepEqual(await offers.of("a"), []);
  const soon = offers.soon("b");
  mock.timers.tick(1000);
  assert.deepEqual(await soon, []);
  const { asked, offers: ofNone } = offersOf([], false);
  assert.deepEqual(await ofNone.of(undefined), []);
  assert.deepEqual(asked, []);
});
