import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedLength } from "../src/features/conversation/webview/output";

/** All texts of the letters a and b with at most `length` letters. Short and repetitive, so that many overlap. */
const texts = (length: number): string[] =>
  length === 0 ? [""] : ["", ...texts(length - 1).flatMap((text) => [`a${text}`, `b${text}`])];

test("the shared part is the longest end of one text with which the other begins", () => {
  const all = [...new Set(texts(5))];
  for (const before of all)
    for (const after of all) {
      let length = Math.min(before.length, after.length);
      while (!after.startsWith(before.slice(before.length - length))) length -= 1;
      assert.equal(sharedLength(before, after), length, `${before} and ${after}`);
    }
});
