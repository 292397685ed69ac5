import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./page";
import { linkPlaces } from "../src/features/conversation/webview/placeLinks";
import { placesIn } from "../src/ui/places";

const found = (text: string): string[] =>
  placesIn(text).map(({ start, end, path, line }) => `${text.slice(start, end)} → ${path} ${line}`);

test("a path with a line is a place, in the forms that tools print", () => {
  assert.deepEqual(found("app.py:10"), ["app.py:10 → app.py 10"]);
  assert.deepEqual(found("(see ./src/a-b.test.ts:3:14)"), ["./src/a-b.test.ts:3:14 → ./src/a-b.test.ts 3"]);
  assert.deepEqual(found('  File "/project/a b.py", line 7, in x'), [
    'File "/project/a b.py", line 7 → /project/a b.py 7',
  ]);
  assert.deepEqual(found("a.c:1: error\nb.c:2: error"), ["a.c:1 → a.c 1", "b.c:2 → b.c 2"]);
});

test("an address, a time, a version and a path without a line are none", () => {
  for (const text of [
    "https://example.com:443/a.py:3",
    "example.com:8080",
    "127.0.0.1:8000",
    "at 12:30:05",
    "v1.2:3",
    "app.py",
    "a:10",
    "user@host.x:22",
    "C:\\a.py:3",
  ])
    assert.deepEqual(found(text), [], text);
});

test("a place in a text becomes a link, and the text stays the same", () => {
  const element = page.createElement("p");
  element.append("See a.py:3 and ", Object.assign(page.createElement("a"), { textContent: "b.py:4" }), ".");
  const before = element.textContent;
  linkPlaces(element);
  assert.equal(element.textContent, before);
  const links = [...element.querySelectorAll("a")].map(({ textContent, dataset }) => [
    textContent,
    dataset.path,
    dataset.line,
  ]);
  assert.deepEqual(links, [
    ["a.py:3", "a.py", "3"],
    ["b.py:4", undefined, undefined],
  ]);
});
