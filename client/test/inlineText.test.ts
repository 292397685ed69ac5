import assert from "node:assert/strict";
import { test } from "node:test";
import { inlineText, plainBody } from "../src/features/review/inlineText";

/** The rows of a body as text, with changed parts in brackets. */
function rowsOf(body: string): string[] {
  const [, html = ""] = /^<pre>(.*)<\/pre>$/s.exec(body) ?? [];
  return html.split("\n").map((row) =>
    row
      .replace(/<span [^>]*insertedTextBackground[^>]*>(.*?)<\/span>/g, "[$1]")
      .replace(/<[^>]*>/g, "")
      .trimEnd(),
  );
}

test("the new lines are rows with the changed words, and the words that go are known", () => {
  const { body, removedWords } = inlineText(["let x = 1;", "f(x);"], ["let y = 1;", "f(y);"], 4);
  assert.deepEqual(rowsOf(body), ["+ let [y] = 1;", "+ f([y]);"]);
  assert.deepEqual(removedWords, [
    { line: 0, start: 4, end: 5 },
    { line: 1, start: 2, end: 3 },
  ]);
});

test("no words are marked if the lines have little in common, or if only one side has lines", () => {
  for (const [removed, added] of [
    [["alpha beta gamma"], ["something else"]],
    [[], ["new"]],
    [["old"], []],
  ]) {
    const { body, removedWords } = inlineText(removed ?? [], added ?? [], 4);
    assert.deepEqual(rowsOf(body), (added ?? []).length > 0 ? added?.map((line) => `+ ${line}`) : [""]);
    assert.deepEqual(removedWords, []);
  }
});

test("a long line has several rows, which end at a space if there is one, and show the first change", () => {
  const prose = "word ".repeat(20).trim();
  assert.deepEqual(rowsOf(inlineText([prose], [prose.replace(/word$/, "end")], 4, 40).body), [
    "+ word word word word word word word word",
    "  word word word word word word word word",
    "  word word word [end]",
  ]);
  const table = "0123456789".repeat(50);
  const rows = rowsOf(inlineText([`${table} a ${table}`], [`${table} b ${table}`], 4, 50).body);
  assert.equal(rows.length, 6);
  assert.ok(rows[0]?.startsWith("+ …") && rows.at(-1)?.endsWith("…"));
  assert.ok(
    rows.some((row) => row.includes("[b]")),
    rows.join("\n"),
  );
});

test("the errors of a change follow its lines", () => {
  assert.deepEqual(rowsOf(inlineText([], ["x"], 4, 120, ["a <b>\nc"]).body), ["+ x", "✗ a &lt;b&gt; c"]);
  assert.match(plainBody(["x"], ["a <b>"]), /\+ x\n```\n\n```\na <b>\n```$/);
});

test("rows have the same width, and tabs that of the editor", () => {
  const { body } = inlineText([], ["\ta", "b".repeat(100)], 2);
  const rows = body.replace(/<[^>]*>/g, "").split("\n");
  assert.deepEqual([...new Set(rows.map(({ length }) => length))], [102]);
  assert.match(rows[0] ?? "", /^\+ {3}a /);
});

test("a line becomes neither HTML nor Markdown, and hides nothing", () => {
  const hostile = ["</pre><img src=x>", "[a](command:b) `c` $(check) &lt;", "\u202ereversed", "```"];
  const { body } = inlineText([], hostile, 4);
  assert.deepEqual(
    rowsOf(body).map((row) => row.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&")),
    ["+ </pre><img src=x>", "+ [a](command:b) `c` $(check) &lt;", "+ \\u{202e}reversed", "+ ```"],
  );
  assert.equal(body.match(/<(?!\/?span\b|\/?pre>)/g), null);
  assert.match(plainBody(hostile), /^````diff\n[^]*\\u\{202e\}[^]*\n````$/);
});
