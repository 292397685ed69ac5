// The declarations of a test file: its tests in order, and what is done after the last one. `lane.mjs` runs them.

let tests = [];
let ends = [];

/** Declares a test. `body` gets the context of the test from node:test. */
export function test(title, body) {
  tests.push({ title, body });
}

/** Declares what is done after the file's last test, in reverse order. */
export function atEnd(body) {
  ends.unshift(body);
}

/** The declarations since the last call: `{ tests, ends }`. */
export function declared() {
  const taken = { tests, ends };
  tests = [];
  ends = [];
  return taken;
}
