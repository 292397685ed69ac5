import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptedPrompt, promptChoices } from "../src/promptChoices";

const earlier = ["Fix the tests", "Add a\nheading"];
const first = (typed: string) => promptChoices(typed, earlier).filter(({ first }) => first);

test("Enter in an empty box runs no earlier task", () => {
  assert.deepEqual(first(""), []);
  assert.deepEqual(first("  "), []);
  assert.equal(acceptedPrompt("", undefined), undefined);
  assert.equal(acceptedPrompt("  ", undefined), undefined);
});

test("Enter runs what was typed, and an earlier task only where the user moved to it", () => {
  assert.deepEqual(first("Fix").map(({ prompt }) => prompt), ["Fix"]);
  const [own, tests, heading] = promptChoices("Fix", earlier);
  assert.deepEqual([own, tests, heading].map((choice) => acceptedPrompt("Fix", choice)), ["Fix", ...earlier]);
  assert.equal(heading?.label, "$(history) Add a heading");
});

test("a row of a moment before, that VS Code marked while the user typed on, is not run", () => {
  const [stale] = promptChoices("", earlier);
  assert.equal(acceptedPrompt("Fix", stale), "Fix");
  const [cleared] = promptChoices("Fix", earlier);
  assert.equal(acceptedPrompt("", cleared), undefined);
});
