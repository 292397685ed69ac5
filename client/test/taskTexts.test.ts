import assert from "node:assert/strict";
import { test } from "node:test";
import { lineRangeOf, linesLabel, mergeRanges } from "../src/context/lines";
import {
  explainPrompt,
  fixCommandPrompt,
  fixPrompt,
  linesText,
  problemsToFix,
  type Problem,
} from "../src/features/code/taskTexts";

const problem = (line: number, message: string, source?: string, code?: string): Problem => ({
  line,
  message,
  source,
  code,
});

test("selections are sorted by line, and those that share a line are merged", () => {
  const selected = [
    { start: 8, end: 9 },
    { start: 0, end: 2 },
    { start: 2, end: 4 },
    { start: 1, end: 1 },
  ];
  assert.deepEqual(mergeRanges(selected), [
    { start: 0, end: 4 },
    { start: 8, end: 9 },
  ]);
  assert.equal(linesText(selected), "lines 1 to 5 and lines 9 to 10");
  assert.equal(linesText([{ start: 3, end: 3 }]), "line 4");
  assert.equal(linesLabel(selected), "lines 1 to 5, lines 9 to 10");
  assert.equal(linesText([1, 3, 5].map((line) => ({ start: line, end: line }))), "line 2, line 4 and line 6");
});

test("the line at whose start a selection ends is not selected", () => {
  const selected = (line: number, character: number) => ({
    start: { line: 1, character: 0 },
    end: { line, character },
  });
  assert.deepEqual(lineRangeOf(selected(3, 0)), { start: 1, end: 2 });
  assert.deepEqual(lineRangeOf(selected(3, 1)), { start: 1, end: 3 });
  assert.deepEqual(lineRangeOf(selected(1, 0)), { start: 1, end: 1 });
});

test("the task for one problem names its file and line, its text and its source", () => {
  assert.equal(
    fixPrompt("src/a.ts", [problem(4, "Type 'string' is not\n  assignable.", "ts", "2322")]),
    "Fix this problem in src/a.ts, line 5: Type 'string' is not assignable. [ts 2322]",
  );
  assert.equal(fixPrompt("a.py", [problem(0, "No.")]), "Fix this problem in a.py, line 1: No.");
});

test("the task for a problem with any line endings has its text on one line", () => {
  const expected = "Fix this problem in a.cs, line 1: Not found. Add a reference. Then build.";
  assert.equal(fixPrompt("a.cs", [problem(0, "\r\nNot found.\r\n  Add a reference.\rThen build.\r\n")]), expected);
});

test("the task for several problems lists them in the order of the text", () => {
  assert.equal(
    fixPrompt("a.ts", [problem(8, "Second.", "eslint"), problem(1, "First.")]),
    "Fix these problems in a.ts:\n- line 2: First.\n- line 9: Second. [eslint]",
  );
});

test("the number and the length of the problems in a task are limited, and the task mentions the others", () => {
  const many = Array.from({ length: 50 }, (_, line) => problem(line, "w".repeat(9000)));
  const lines = fixPrompt("a.ts", many).split("\n");
  assert.equal(problemsToFix(many).length, 20);
  assert.equal(lines.length, 22);
  assert.equal(lines.at(-1), "Also fix the 30 problems after these, up to line 50.");
  assert.ok(Math.max(...lines.map(({ length }) => length)) < 1100);
});

test("characters that hide text in a problem's message are visible in the task", () => {
  assert.match(fixPrompt("a.ts", [problem(0, "a\u202eb")]), /a\\u\{202e\}b/);
});

test("the task for a failed command names it in one line, and its exit code if that is known", () => {
  assert.equal(
    fixCommandPrompt({ command: "npm test \\\n  -- a", exitCode: 1 }),
    "This command failed in my terminal with exit code 1. Fix the cause: npm test \\ -- a",
  );
  assert.equal(fixCommandPrompt({ command: "make" }), "This command failed in my terminal. Fix the cause: make");
});

test("a question names the symbol at the cursor, or the selected lines", () => {
  const place = { start: 3, end: 3 };
  assert.equal(explainPrompt("src/a.ts", [place], "greet"), "Explain `greet` in src/a.ts, line 4.");
  assert.equal(
    explainPrompt("a.ts", [place, { start: 8, end: 9 }], undefined),
    "Explain the code in a.ts, line 4 and lines 9 to 10.",
  );
});
