import assert from "node:assert/strict";
import { test } from "node:test";
import {
  documentSymbols,
  hover,
  locations,
  MOST_PLACES,
  symbolInformation,
  Unusable,
  workspaceEdit,
  type EditEntry,
} from "../src/features/code/lspShapes";

const uri = (path: string): { toString(): string } => ({ toString: () => `file:///${path}` });
const span = (line: number, from: number, to: number) => ({
  start: { line, character: from },
  end: { line, character: to },
});
const replace = (path: string, line: number, newText: string): EditEntry => ({
  _type: 2,
  uri: uri(path),
  edit: { range: span(line, 0, 3), newText },
});
const NAME = { start: { line: 1, character: 4 }, end: { line: 1, character: 9 } };

test("a link to a definition becomes the place of the name that it leads to", () => {
  const link = { targetUri: uri("b.ts"), targetRange: span(1, 0, 40), targetSelectionRange: span(1, 4, 9) };
  const plain = { uri: uri("b.ts"), range: span(1, 4, 9) };
  const bare = { targetUri: uri("b.ts"), targetRange: span(1, 4, 9) };
  for (const found of [link, plain, bare]) assert.deepEqual(locations([found]), [{ uri: "file:///b.ts", range: NAME }]);
});

test("only the first of very many places are sent", () => {
  const found = Array.from({ length: 50_000 }, (_, line) => ({ uri: uri("b.ts"), range: span(line, 0, 1) }));
  assert.equal(locations(found).length, MOST_PLACES);
});

test("several hovers become one, and empty ones become null", () => {
  const found = (...values: string[]) => ({ contents: values.map((value) => ({ value })), range: span(1, 4, 9) });
  assert.equal(hover([]), null);
  assert.equal(hover([found("", " ")]), null);
  assert.deepEqual(hover([found("a", ""), found("b")]), {
    contents: { kind: "markdown", value: "a\n\nb" },
    range: NAME,
  });
});

const symbol = <Child>(name: string, children: Child[] = []) => ({
  name,
  detail: "",
  kind: 11,
  range: span(1, 0, 40),
  selectionRange: span(1, 4, 9),
  children,
});

test("symbols have the kinds of LSP, which are counted from 1", () => {
  const [outer] = documentSymbols([symbol("outer", [symbol("inner", [])])]);
  assert.deepEqual([outer?.kind, outer?.selectionRange, outer?.children?.[0]?.name], [12, NAME, "inner"]);
  const found = { name: "a", kind: 4, containerName: "", location: { uri: uri("b.ts"), range: span(1, 4, 9) } };
  assert.deepEqual(symbolInformation(found), {
    name: "a",
    kind: 5,
    location: { uri: "file:///b.ts", range: NAME },
  });
});

test("only the first symbols of a very large outline are sent, with their parents", () => {
  const count = (symbols: { children?: unknown[] }[]): number =>
    symbols.reduce((sum, { children = [] }) => sum + 1 + count(children as { children?: unknown[] }[]), 0);
  const many = Array.from({ length: 100 }, () =>
    symbol(
      "outer",
      Array.from({ length: 100 }, () => symbol("in", [])),
    ),
  );
  const found = documentSymbols(many);
  assert.equal(count(found), MOST_PLACES);
  assert.equal(found.at(0)?.children?.length, 100);
});

test("a rename in several files has one change per file, with the versions of open documents", () => {
  const entries = [replace("a.ts", 1, "x"), replace("b.ts", 0, "y"), replace("a.ts", 5, "z")];
  const edit = workspaceEdit(entries, (name) => (name === "file:///a.ts" ? 7 : null));
  assert.deepEqual(
    edit.documentChanges?.map((change) => "textDocument" in change && [change.textDocument, change.edits.length]),
    [
      [{ uri: "file:///a.ts", version: 7 }, 2],
      [{ uri: "file:///b.ts", version: null }, 1],
    ],
  );
});

test("a file's text is edited before the file is renamed, and after it is created", () => {
  const entries: EditEntry[] = [
    { _type: 1, from: uri("old.ts"), to: uri("new.ts"), options: { overwrite: true } },
    { _type: 1, to: uri("made.ts"), options: undefined },
    { _type: 1, from: uri("gone"), options: { recursive: true } },
    replace("made.ts", 0, "x"),
    replace("old.ts", 0, "y"),
  ];
  const { documentChanges } = workspaceEdit(entries, () => null);
  assert.deepEqual(
    documentChanges?.map((change) => ("kind" in change ? change : change.textDocument.uri)),
    [
      "file:///old.ts",
      { kind: "rename", oldUri: "file:///old.ts", newUri: "file:///new.ts", options: { overwrite: true } },
      { kind: "create", uri: "file:///made.ts", options: {} },
      { kind: "delete", uri: "file:///gone", options: { recursive: true } },
      "file:///made.ts",
    ],
  );
});

test("an edit that LSP cannot express, or that is too large, is refused as a whole", () => {
  const refused: EditEntry[][] = [
    [replace("a.ts", 0, "x"), { _type: 5 }],
    [{ _type: 6 }],
    [{ _type: 1 }],
    [{ _type: 1, to: uri("a.png"), options: { contents: {} } }],
    Array.from({ length: 50_001 }, (_, line) => replace("a.ts", line, "x")),
  ];
  for (const entries of refused) assert.throws(() => workspaceEdit(entries, () => null), Unusable);
});
