import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptSummary, failureSummary, plainLine, plainOutput, plainSummary } from "../src/ui/text";

const CASES: Record<string, [string, string]> = {
  "plain words as they are": ["Both are done.", "Both are done."],
  "no heading if text follows it": [
    "## Summary\n\nThe test **fails** because `a_b` is *not* set.\n\n- one",
    "The test fails because a_b is not set.",
  ],
  "a heading with its text right below": [
    "# Done\nAll _three_ files are ~~wrong~~ right.",
    "All three files are wrong right.",
  ],
  "the heading if there is nothing else": ["## All **done**", "All done"],
  "one line": ["I changed\ntwo files\r\nand a test.", "I changed two files and a test."],
  "a list on one line": ["- **a.py**: new\n- b.py", "a.py: new b.py"],
  "no code block": ["```python\nx = 1\n```\n\nThat is it.", "That is it."],
  "a code block without an end": ["```\nx = 1", ""],
  "no horizontal rule": ["---\n\nDone.", "Done."],
  "only the text of a link": [
    "See [the docs](https://example.com/a_b) and ![a picture](x.png).",
    "See the docs and a picture.",
  ],
  "no link to a command": ["[Click](command:evil)", "Click"],
  "characters that are not markup": [
    "2 * 3 * 4, snake_case_name and __init__x, a ** b, 5 < 6 & `**kept**`",
    "2 * 3 * 4, snake_case_name and __init__x, a ** b, 5 < 6 & **kept**",
  ],
  "a list in a list": ["- Added types:\n  - in hello.py\n  - in a.py", "Added types: in hello.py in a.py"],
  "a list in a quotation": ["> Note:\n> - a", "Note: a"],
  "nested markup": ["**All _done_** by **[me](x)**", "All done by me"],
  "escaped characters": ["\\*not bold\\* and \\`code", "*not bold* and `code"],
  "other scripts": ["## 總結\n\n**完成**了兩個檔案。", "完成了兩個檔案。"],
  nothing: ["", ""],
};

for (const [what, [markdown, words]] of Object.entries(CASES)) {
  test(`the summary of an answer: ${what}`, () => {
    assert.equal(plainSummary(markdown), words);
  });
}

test("docs/faults.md 159: the summary of deeply nested Markdown", () => {
  for (const nesting of [">", "> ", "- ", "1. ", "> - "])
    assert.match(plainSummary(`${nesting.repeat(4000)}words`), /\S/, nesting);
});

// before, each of these took more time than a user would wait
test("docs/faults.md 174: texts that could be read in many ways end soon", () => {
  for (const marker of ["- ", "-        ", "> ", ">\t", "1.      "])
    assert.match(plainSummary(`${marker.repeat(19)}words`), /words/, marker);
  assert.equal(plainOutput(`a${"\r".repeat(1_000_000)}\nb`), "a\nb");
  assert.equal(plainOutput(`${"\r".repeat(1_000_000)}b`), "b");
});

test("the output of a command has the last state of each line", () => {
  const cases = { "1%\r2%\r\nx": "2%\nx", "a\r\nb\r": "a\nb", "\r": "", "\x1b[31ma\x1b[0m\rb": "b", "": "" };
  for (const [output, shown] of Object.entries(cases)) assert.equal(plainOutput(output), shown);
});

test("the summary of a long answer ends after a word", () => {
  assert.equal(plainSummary("one two three, four five", 15), "one two three…");
  assert.equal(plainSummary("一".repeat(200)), `${"一".repeat(160)}…`);
  assert.equal(plainSummary("one two three", 13), "one two three");
});

test("each reason for failures is given once, with the names of the first files", () => {
  const failed = (message: string, ...names: string[]): { name: string; message: string }[] =>
    names.map((name) => ({ name, message }));
  assert.equal(failureSummary(failed("Gone.", "a", "a")), "a: Gone.");
  assert.equal(
    failureSummary([...failed("Gone.", "a", "b", "c"), ...failed("Shut.", "d")]),
    "a, b and c: Gone. d: Shut.",
  );
  assert.equal(failureSummary(failed("Gone.", "a", "b", "c", "d")), "a, b and 2 other files: Gone.");
});

test("what was not accepted is one sentence, with each reason once", () => {
  const failed = [
    { name: "a.py", message: "you changed these lines" },
    { name: "a.py", message: "you changed these lines" },
    { name: "b.py", message: "you changed these lines" },
    { name: "c.py", message: "c.py is read-only. Make it writable, then try again." },
    { name: "d.py", message: "你没有确认。它仍是提议。" },
  ];
  const reasons = "a.py and b.py (you changed these lines), c.py is read-only, d.py (你没有确认)";
  assert.equal(acceptSummary(34, failed), `34 files accepted, 4 not: ${reasons}`);
  assert.equal(acceptSummary(0, failed.slice(2, 3)), "1 file not accepted: b.py (you changed these lines)");
});

test("a Markdown text is one line of plain text, with all of its words", () => {
  const markdown = "# Which?\n\nDelete the **old** folder `a_b`?\n\n- *yes*\n- [no](x)\n";
  assert.equal(plainLine(markdown), "Which? Delete the old folder a_b? yes no");
  assert.equal(plainLine("Is snake_case_name 2 * 3 * 4 < 5?"), "Is snake_case_name 2 * 3 * 4 < 5?");
  assert.equal(plainLine("**a**\n".repeat(5000)).slice(0, 11), "**a** **a**");
});
