import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import ts from "typescript";

const SOURCES = path.join("client", "src");
const SERVER = path.join("server", "fairlead");
const chinese = JSON.parse(readFileSync("l10n/bundle.l10n.zh-cn.json", "utf8")) as Record<string, string>;

/** The first argument of each call to `t` in a file that imports `t`; if it is no literal, the file and the call. */
function textsOf(file: string): { readonly text: string; readonly isLiteral: boolean }[] {
  const source = readFileSync(file, "utf8");
  if (!source.includes('import { t } from "@vscode/l10n"')) return [];
  const texts: { text: string; isLiteral: boolean }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.getText() === "t") {
      const [first] = node.arguments;
      if (first && ts.isStringLiteralLike(first)) texts.push({ text: first.text, isLiteral: true });
      else texts.push({ text: `${file}: ${node.getText()}`, isLiteral: false });
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true));
  return texts;
}

/** The templates of the titles and the sentences that the server sends. Python joins literals that follow each other. */
const titles = readdirSync(SERVER, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".py"))
  .flatMap((file) => [
    ...readFileSync(path.join(SERVER, file), "utf8").matchAll(/\b(?:Title|Sentence)\(\s*((?:"[^"]*"\s*)+)/g),
  ])
  .map(([, literals = ""]) => [...literals.matchAll(/"([^"]*)"/g)].map(([, part = ""]) => part).join(""));

const used = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .flatMap((file) => textsOf(path.join(SOURCES, file)));

/** The parts that are the same in both languages: placeholders, icons, code and links. */
const fixedParts = (text: string): string[] =>
  [...text.matchAll(/\{\d+\}|\$\([\w~-]+\)|`[^`]*`|\]\([^)]*\)/g)].map(([part]) => part).sort();

test("each text of the client is a literal", () => {
  assert.deepEqual(
    used.filter(({ isLiteral }) => !isLiteral).map(({ text }) => text),
    [],
  );
});

test("each text of the client and each title of the server has a Chinese translation, and there are no unused translations", () => {
  assert.ok(used.length > 0 && titles.length > 0);
  assert.deepEqual(Object.keys(chinese).sort(), [...new Set([...titles, ...used.map(({ text }) => text)])].sort());
});

test("each Chinese text has the placeholders, icons, code and links of the English one", () => {
  for (const [text, translated] of Object.entries(chinese)) {
    assert.deepEqual(fixedParts(translated), fixedParts(text), text);
  }
});
