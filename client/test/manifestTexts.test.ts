import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

type Texts = Record<string, string>;

const manifest = readFileSync("package.json", "utf8");
const english = JSON.parse(readFileSync("package.nls.json", "utf8")) as Texts;
const chinese = JSON.parse(readFileSync("package.nls.zh-cn.json", "utf8")) as Texts;
const used = [...manifest.matchAll(/"%([\w.-]+)%"/g)].map(([, key]) => key);
const SHOWN = ["name", "title", "label", "contents", "altText", "description", "markdownDescription"];

/** The parts of a text that are the same in each language: code, targets of links, the start of a bold command name. */
function fixedParts(text: string): string[] {
  return [...text.matchAll(/`[^`]*`|\]\([^)]*\)|\*\*Agent: |\.{3}|…|\{\d+\}/g)].map(([part]) => part).sort();
}

/** The texts below `value` that VS Code shows, with their paths. The category and the product's name are not translated. */
function shownTexts(value: unknown, path: string): [string, string][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, child]: [string, unknown]): [string, string][] => {
    const texts = /[eE]numDescriptions$/.test(name) ? (child as string[]) : SHOWN.includes(name) ? [child] : [];
    const own = texts.filter((text) => typeof text === "string").map((text): [string, string] => [path, text]);
    return [...own, ...shownTexts(child, `${path}/${name}`)];
  });
}

test("each key of the manifest has a text in both languages, and no text is unused", () => {
  const keys = [...new Set(used)].sort();
  assert.deepEqual(Object.keys(english).sort(), keys);
  assert.deepEqual(Object.keys(chinese).sort(), keys);
});

test("the manifest itself has no text that is shown", () => {
  const { contributes, capabilities } = JSON.parse(manifest) as Record<string, unknown>;
  const literal = shownTexts({ contributes, capabilities }, "").filter(([, text]) => !/^%.*%$|^Fairlead$/.test(text));
  assert.deepEqual(literal, [], "put the text into package.nls.json and package.nls.zh-cn.json");
});

test("both languages have the same links, code and setting names", () => {
  for (const [key, text] of Object.entries(english)) {
    const translated = chinese[key] ?? "";
    assert.deepEqual(fixedParts(translated), fixedParts(text), key);
    assert.equal(translated.split("\n").length, text.split("\n").length, key);
  }
});

test("a description names commands as the command palette does", () => {
  for (const texts of [english, chinese]) {
    const titles = Object.entries(texts)
      .filter(([key]) => key.startsWith("command."))
      .map(([, title]) => title.replace(/(\.{3}|…)$/, ""));
    const named = Object.values(texts).flatMap((text) => [...text.matchAll(/\*\*Agent: ([^*]+)\*\*/g)]);
    assert.ok(named.length > 0);
    for (const [, name = ""] of named) assert.ok(titles.includes(name), name);
  }
});

test("a step with a check has the actions of one without", () => {
  const patterns = [...manifest.matchAll(/viewItem =~ \/((?:\\\\.|[^/])+)\//g)].map(
    ([, pattern = ""]) => new RegExp(pattern.replaceAll("\\\\", "\\")),
  );
  const withoutCheck = patterns.filter((pattern) => pattern.test("item done changed reviewable"));
  assert.ok(withoutCheck.some((pattern) => !pattern.test("item done changed")));
  for (const pattern of withoutCheck) assert.match("item done changed reviewable checked", pattern);
});
