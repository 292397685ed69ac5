// What a test file declares: its tests in their order, and what is to be done after the last one. `lane.mjs` runs them.

let tests = [];
let ends = [];

/** Declares a test; `body` gets the test's context of node:test. */
export function test(title, body) {
  tests.push({ title, body });
}

/** Declares what is done after the file's last test, in reverse order. */
export function atEnd(body) {
  ends.unshift(body);
}

/** What was declared since the last call: `{ tests, ends }`. */
export function declared() {
  const taken = { tests, ends };
  tests = [];
  ends = [];
  return taken;
}
