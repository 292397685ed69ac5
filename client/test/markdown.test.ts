import assert from "node:assert/strict";
import { test } from "node:test";
import { fenced, safeMarkdown } from "../src/ui/markdown";
import { NotInstalled } from "../src/server/environment";
import { packagesHelp, pythonHelp } from "../src/server/helpTexts";
import { visibleText } from "../src/ui/shownText";

test("docs/faults.md 41: text from the model never produces HTML or an image", () => {
  const attacks = [
    "![x](https://example.com/x.png)",
    "![x][ref]\n\n[ref]: https://example.com/x.png",
    "<img src=https://example.com/x.png>",
    "&lt;img src=x&gt;",
    "```\nnot closed <img src=x>",
    "````\n```\n<img src=x>\n````\n<img src=y>",
    "~~~\n```\n~~~\n<img src=x>",
    "```a b\ny\n```\n![x](https://example.com/x.png)",
    '```python title="x"\ny\n```\n<img src=x>',
    "~~~ a b\ny\n~~~\n<img src=x>",
    "- a\n  ```\n<img src=x>\n  ```",
  ];
  for (const attack of attacks) {
    const outside = withoutFences(safeMarkdown(attack));
    assert.doesNotMatch(outside, /<|!\[|&(?!amp;|lt;)/, attack);
  }
});

/** The lines outside of code blocks. Only a fence that is at least as long as the opening fence closes a code block. */
function withoutFences(text: string): string {
  let fence = "";
  return text
    .split("\n")
    .filter((line) => {
      const ticks = /^(`{3,})[\w+#.-]*$/.exec(line)?.[1] ?? "";
      const inside = fence !== "" || ticks !== "";
      if (fence === "") fence = ticks;
      else if (ticks.length >= fence.length && line === ticks) fence = "";
      return !inside;
    })
    .join("\n");
}

test("a code block with several words after its fence keeps the first as its language", () => {
  const shown = safeMarkdown('```python title="x"\na < b\n```\n![x](y)');
  assert.equal(shown, "```python\na < b\n```\n\n!\u200b[x](y)");
});

test("code blocks are preserved", () => {
  const text = "Look:\n\n```python\nif a < b and c & d:\n    print('![x]')\n```\n\nDone.";
  assert.ok(safeMarkdown(text).includes("```python\nif a < b and c & d:\n    print('![x]')\n```"));
});

test("no text can end its code block", () => {
  assert.equal(fenced("a\n````\nb"), "`````\na\n````\nb\n`````");
});

test("invisible characters in a command are shown", () => {
  assert.equal(visibleText("rm \u202e-rf\u0007 x\n\ty ü 🚀"), "rm \\u{202e}-rf\\u{7} x\n\ty ü 🚀");
  assert.equal(visibleText("rm\u3164\u2800-rf 한글 ❤\ufe0f"), "rm\\u{3164}\\u{2800}-rf 한글 ❤\ufe0f");
});

test("the page about packages that cannot be downloaded says what helps, and how pip's output ends", () => {
  const page = packagesHelp(
    new NotInstalled(["the beginning", ...Array<string>(40).fill("more"), "the end"].join("\n")),
    "/r.txt",
  );
  const parts = [
    "could not be installed",
    "http.proxy",
    "fairlead.wheels",
    'pip download --only-binary=:all: -r "/r.txt"',
  ];
  for (const part of [...parts, "the end"]) assert.ok(page.includes(part), part);
  assert.ok(!page.includes("the beginning"));
});

test("the help page lists what was tried and how to get a Python on each system", () => {
  const page = pythonHelp([{ command: "python3", problem: "is Python 3.9, too old" }]);
  for (const part of [
    "3.11 to 3.14",
    "python3: is Python 3.9, too old",
    "Debian",
    "macOS",
    "Windows",
    "fairlead.python",
  ])
    assert.ok(page.includes(part));
});
