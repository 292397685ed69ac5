import assert from "node:assert/strict";
import { test } from "node:test";
import { aboveTyped } from "../src/features/conversation/drafts";

test("an offered text does not replace what the user has typed", () => {
  assert.equal(aboveTyped("Earlier", ""), "Earlier");
  assert.equal(aboveTyped("Earlier", " \n"), "Earlier");
  assert.equal(aboveTyped("Earlier", "Earlier\n"), "Earlier");
  assert.equal(aboveTyped("Earlier", "Typed\n"), "Earlier\n\nTyped");
});
