import assert from "node:assert/strict";
import { test } from "node:test";
import { applyCompletion, completionsAt, MAX_COMPLETIONS, type Mentionable } from "../src/context/completions";
import {
  mentionsIn as mentionsWith,
  pathMention,
  type Mention,
  unfinishedMention,
  urisIn,
} from "../src/context/mentions";
import { completedText, acceptedPrompt, promptChoices } from "../src/features/sessions/promptChoices";

const available: Mentionable = {
  files: ["src/a.ts", "src/app/main.ts", "test/a.test.ts", "my notes.md", "selection"],
  open: ["src/app/main.ts"],
  keywords: { selection: "src/a.ts, lines 3 to 5", problems: "the problems" },
  offers: [
    { server: "wiki", prompts: [], resources: [{ uri: "note://intro.", name: "Intro", description: "The\nstart" }] },
    { server: "my wiki", prompts: [], resources: [] },
  ],
};
const mentionsIn = (text: string): Mention[] => mentionsWith(text, available.offers);
const mentions = (text: string): string[] => completionsAt(text, available).map(({ mention }) => mention);

test("a task mentions keywords, files and folders", () => {
  assert.deepEqual(mentionsIn("Fix #problems in #src/a.ts (#file:src/) with #changes, and #changes."), [
    { kind: "problems" },
    { kind: "path", paths: ["src/a.ts"] },
    { kind: "path", paths: ["src/)", "src"] },
    { kind: "changes" },
  ]);
  assert.deepEqual(mentionsIn('Move #"my notes.md" to #file:"a b/".'), [
    { kind: "path", paths: ["my notes.md"] },
    { kind: "path", paths: ["a b"] },
  ]);
  assert.deepEqual(mentionsIn("#file:selection"), [{ kind: "path", paths: ["selection"] }]);
});

test("in a language without spaces, a mention begins and ends between the words", () => {
  assert.deepEqual(mentionsIn("解释#src/a.ts的用途，再看（#文档/说明.md）。"), [
    { kind: "path", paths: ["src/a.ts的用途，再看（", "src/a.ts的用途，再看", "src/a.ts的用途", "src/a.ts"] },
    { kind: "path", paths: ["文档/说明.md）。", "文档/说明.md）", "文档/说明.md"] },
  ]);
  assert.deepEqual(mentionsIn("検査は#changes、#problemsと#selection。"), [
    { kind: "changes" },
    { kind: "problems" },
    { kind: "selection" },
  ]);
  assert.deepEqual(mentionsIn("#src/a.ts를 고쳐"), [{ kind: "path", paths: ["src/a.ts를", "src/a.ts"] }]);
  assert.deepEqual(mentionsIn("Öffne #größe.ts und Menü#a"), [{ kind: "path", paths: ["größe.ts"] }]);
  assert.deepEqual(mentionsIn("ดูที่#changes"), [{ kind: "changes" }]);
  assert.deepEqual(mentionsIn("#cafe\u0301.ts"), [{ kind: "path", paths: ["cafe\u0301.ts"] }]);
  assert.deepEqual(mentionsIn("@src/a.ts, not a@b.ts"), [{ kind: "path", paths: ["src/a.ts,", "src/a.ts"] }]);
  assert.deepEqual(mentions("解释#src/a"), ["#src/a.ts", "#src/app", "#src/app/main.ts"]);
});

test("in a long text without spaces, a mention can mean only a few paths of limited length", () => {
  const [mention, ...others] = mentionsIn(`解释#src/a.ts的用途${"，再看（这个）。".repeat(500)}`);
  assert.ok(mention?.kind === "path");
  assert.equal(mention.paths.length, 20);
  assert.equal(mention.paths.at(-1), "src/a.ts");
  assert.ok(mention.paths.every((path) => path.length <= 260));
  assert.deepEqual(others, []);
  assert.deepEqual(mentionsIn(`#${"很长".repeat(200)}`), []);
});

test("other text with a # is not a mention", () => {
  for (const text of [
    "C# and a#b",
    "cafe\u0301#changes",
    "https://example.com/#top",
    "## Heading",
    "# Heading",
    "#../x",
    "#/etc/passwd",
    '#""',
  ])
    assert.deepEqual(mentionsIn(text), [], text);
});

test("the mention that is written for a path is read as that path", () => {
  for (const path of ["a.ts", "my notes.md", "src/a(1).ts", "x.", "selection", "file:x", "ende)", "a,b", "問候.py"])
    assert.deepEqual(
      mentionsIn(`See ${pathMention(path)} first`).map((mention) => mention.kind === "path" && mention.paths[0]),
      [path],
    );
});

test("the word at the end is completed: keywords first, then files by name, open ones before others, then resources", () => {
  assert.deepEqual(mentions("Fix #"), [
    "#selection",
    "#problems",
    "#src/app/main.ts",
    "#src/a.ts",
    '#"selection"',
    '#"my notes.md"',
    "#test/a.test.ts",
    '#"wiki:note://intro."',
  ]);
  assert.deepEqual(mentions("Fix #a"), ["#src/a.ts", "#test/a.test.ts", "#src/app", "#src/app/main.ts"]);
  assert.deepEqual(mentions("Fix #src/a"), ["#src/a.ts", "#src/app", "#src/app/main.ts"]);
  assert.deepEqual(mentions('Fix #"my n'), ['#"my notes.md"']);
  assert.deepEqual(mentions("Fix #file:sel"), ['#"selection"']);
  assert.deepEqual(mentions("Fix #smt"), ["#src/app/main.ts"]);
  assert.deepEqual(mentions("Fix #.\\src\\app\\"), ["#src/app", "#src/app/main.ts"]);
  for (const text of ["Fix", "Fix #a ", "#12", "C#", "Fix #nothing", ""]) assert.deepEqual(mentions(text), [], text);
});

test("a resource of a tool server is mentioned by its URI, whether the server has listed it or not", () => {
  const resource = (text: string): unknown[] =>
    mentionsIn(text).map((mention) => mention.kind === "resource" && [mention.server, mention.resource]);
  assert.deepEqual(resource("See #wiki:note://intro."), [["wiki", "note://intro."]]);
  assert.deepEqual(resource("See (#wiki:page://other)."), [["wiki", "page://other"]]);
  assert.deepEqual(resource('See @"my wiki:page://a b", #wiki:page://x?y=1'), [
    ["my wiki", "page://a b"],
    ["wiki", "page://x?y=1"],
  ]);
  assert.deepEqual(resource("#file:wiki:note://intro. #wiki: #other:page://x #wiki"), [false, false, false, false]);
});

test("resources are completed with what the server says about them", () => {
  assert.deepEqual(mentions("Fix #intro"), ['#"wiki:note://intro."']);
  const [row] = completionsAt("Fix #wiki:", available);
  assert.equal(row?.description, "Intro · The start");
});

test("a completed mention ends with a space, and replaces what was typed", () => {
  const [first] = completionsAt("Fix #file:a.ts", available);
  assert.ok(first);
  assert.equal(applyCompletion("Fix #file:a.ts", first), "Fix #src/a.ts ");
  assert.equal(unfinishedMention("Fix #src/a.ts "), undefined);
});

test("the completions in a large workspace are limited", () => {
  const files = Array.from({ length: 10_000 }, (_, n) => `f${n}.ts`);
  assert.equal(completionsAt("#f", { ...available, files }).length, MAX_COMPLETIONS);
});

const rows = (typed: string): ReturnType<typeof promptChoices> =>
  promptChoices(typed, [], completionsAt(typed, available));

test("Enter completes an unfinished mention, and runs the task after a complete one", () => {
  const half = rows("Fix #src/a");
  assert.equal(completedText("Fix #src/a", half[0], half), "Fix #src/a.ts ");
  assert.equal(completedText("Fix #src/a", half.at(-1), half), undefined);
  for (const typed of ["Fix #src/a.ts", "Fix #problems", "Fix #src/a.ts ", "Fix #nothing"]) {
    const whole = rows(typed);
    assert.equal(completedText(typed, whole[0], whole), undefined, typed);
    assert.equal(acceptedPrompt(typed, whole[0]), typed.trim());
  }
});

test("if the selected row was listed for another text, Enter acts on the text in the box", () => {
  const now = rows("Fix #src/a");
  for (const before of ["", "Fix", "Fix #", "Fix #s"])
    for (const stale of promptChoices(before, ["Earlier"], completionsAt(before, available)))
      assert.equal(completedText("Fix #src/a", stale, now), "Fix #src/a.ts ");
  for (const stale of now) {
    assert.equal(completedText("Fix it", stale, rows("Fix it")), undefined);
    assert.equal(acceptedPrompt("Fix it", stale), "Fix it");
  }
});

test("a dropped list has a URI on each line, and may have comments and blank lines", () => {
  assert.deepEqual(urisIn("# from somewhere\r\nfile:///a%20b\r\n\r\nfile:///c\n"), ["file:///a%20b", "file:///c"]);
  assert.deepEqual(urisIn(""), []);
});
