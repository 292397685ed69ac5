// What VS Code's own language support tells the agent about the code.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { relayed, ROOT, runTask, useAgent } from "./agent.mjs";

const PROJECT = {
  "tsconfig.json": JSON.stringify({
    compilerOptions: { strict: true, module: "esnext", moduleResolution: "bundler" },
    include: ["src"],
  }),
  "src/shapes.ts": [
    "export interface Shape {",
    "  readonly side: number;",
    "}",
    "export class Square implements Shape {",
    "  constructor(readonly side: number) {}",
    "}",
    "export const area = (shape: Shape): number => shape.side ** 2;",
    "export const again = area",
    "",
  ].join("\n"),
  "src/one.ts": 'import { area, Square } from "./shapes";\r\nexport const one = "👋" + area(new Square(1));\r\n',
  "src/two.ts": 'import { area } from "./shapes";\nexport const tools = { area };\n',
  "src/three.ts": 'import * as shapes from "./shapes";\nexport const three = shapes.area({ side: 3 });\n',
  "src/four.ts":
    'import { area as surface } from "./shapes";\nexport { area } from "./shapes";\nsurface({ side: 4 });\n',
  "src/wrong.ts": 'export const first: number = "1";\nexport const second: string = 2;\n',
  "src/unsorted.ts":
    'import { one } from "./one";\nimport { area } from "./shapes";\nimport { four } from "./one";\narea({ side: one.length });\n',
  "notes.txt": "area\n",
};
const SOURCES = Object.keys(PROJECT).filter((name) => name.endsWith(".ts"));
// the editor renames in a copy: if the original files were restored for it, TypeScript might notice that too late
const COPY = Object.fromEntries(Object.entries(PROJECT).map(([name, text]) => [`copy/${name}`, text]));
const { extension, ask } = relayed();
const editorTest = useAgent(
  [
    // at a use; VS Code's own rename would only change this import
    { calls: [{ rename_symbol: { path: "src/two.ts", line: 2, symbol: "area", new_name: "surfaceArea" } }] },
    { text: "Renamed." },
  ],
  {
    workspace: { ...PROJECT, ...COPY },
    settings: {
      // the npm package of this VS Code lacks the TypeScript that an installed one contains; this is the same version
      "typescript.tsdk": path.join(ROOT, "node_modules/typescript/lib"),
      "typescript.disableAutomaticTypeAcquisition": true,
      "typescript.updateImportsOnFileMove.enabled": "never",
    },
    viewport: { width: 1280, height: 1000 },
    extensions: [extension],
    own: true,
  },
);
const read = (workspace, name) => fs.readFileSync(path.join(workspace, name), "utf8");
const uri = (workspace, name) => pathToFileURL(path.join(workspace, name)).toString();
const document = (workspace, name) => ({ textDocument: { uri: uri(workspace, name) } });
/** The params for the position of the first occurrence of `text` in a file. */
const at = (workspace, name, text) => ({
  ...document(workspace, name),
  position: position(read(workspace, name), text),
});

function position(content, text) {
  const before = content.slice(0, content.indexOf(text)).split("\n");
  return { line: before.length - 1, character: before.at(-1).length };
}

function apply(content, edits) {
  const starts = [0, ...[...content.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const offset = ({ line, character }) => starts[line] + character;
  return [...edits]
    .sort((one, other) => offset(other.range.start) - offset(one.range.start))
    .reduce(
      (text, { range, newText }) => text.slice(0, offset(range.start)) + newText + text.slice(offset(range.end)),
      content,
    );
}

/** The locations in an answer, as `file:line`. */
const places = (workspace, { result, error }) => {
  assert.equal(error, undefined);
  return result
    .map(({ uri: found, range }) => `${path.relative(workspace, new URL(found).pathname)}:${range.start.line + 1}`)
    .sort();
};

editorTest(
  "a rename by the agent, as its first action and with all files closed, gives the same bytes as the editor's own at the declaration",
  async ({ page, workspace }) => {
    const saved = (folder) => Object.fromEntries(SOURCES.map((name) => [name, read(workspace, `${folder}${name}`)]));
    await runTask(page, "Rename area");
    await page.toast("Renamed.");
    assert.deepEqual(await page.tabs(), []);
    await page.runCommand("Agent: Accept All");
    await page.until("the accepted rename", () =>
      SOURCES.every((name) => name === "src/wrong.ts" || read(workspace, name).includes("surfaceArea")),
    );
    const byAgent = saved("");
    assert.deepEqual(
      SOURCES.filter((name) => byAgent[name] === PROJECT[name]),
      ["src/wrong.ts"],
    );

    await page.openFile("copy/src/shapes.ts");
    await page.clickLine("again = area");
    await page.press("F2");
    const box = page.page.locator(".rename-box input");
    await page.until("the rename box", () => box.isVisible());
    await box.fill("surfaceArea");
    await page.press("Enter");
    await page.editorLines((lines) => lines.some((line) => line.endsWith("again = surfaceArea")));
    await page.runCommand("File: Save All Files");
    await page.until("the editor's rename on disk", () => {
      assert.deepEqual(saved("copy/"), byAgent);
      return true;
    });
    await page.runCommand("View: Close All Editors");
    await page.openFile("src/shapes.ts");
  },
);

editorTest(
  "definitions, references, implementations and hovers are those that VS Code shows",
  async ({ page, workspace }) => {
    const used = at(workspace, "src/one.ts", "surfaceArea(");
    const all = { context: { includeDeclaration: true } };
    assert.deepEqual(places(workspace, await ask(page, "agent/editor/definition", used)), ["src/shapes.ts:7"]);
    const references = [
      "four.ts:1",
      "four.ts:2",
      "four.ts:3",
      "one.ts:1",
      "one.ts:2",
      "shapes.ts:7",
      "shapes.ts:8",
      "three.ts:2",
    ];
    const others = ["two.ts:1", "two.ts:2", "unsorted.ts:2", "unsorted.ts:4"];
    const found = [...references, ...others].map((place) => `src/${place}`);
    const answer = await ask(page, "agent/editor/references", { ...used, ...all });
    assert.deepEqual([...new Set(places(workspace, answer))], found);
    const without = { ...used, context: { includeDeclaration: false } };
    assert.ok(!places(workspace, await ask(page, "agent/editor/references", without)).includes("src/shapes.ts:7"));
    const shape = at(workspace, "src/shapes.ts", "Shape {");
    assert.deepEqual(places(workspace, await ask(page, "agent/editor/implementation", shape)), ["src/shapes.ts:4"]);
    const { result } = await ask(page, "agent/editor/hover", used);
    assert.equal(result.contents.kind, "markdown");
    assert.match(result.contents.value, /surfaceArea\(shape: Shape\): number/);
  },
);

editorTest("symbols of a file and of the workspace have LSP's kinds", async ({ page, workspace }) => {
  const outline = await ask(page, "agent/editor/documentSymbols", document(workspace, "src/shapes.ts"));
  const square = outline.result.find(({ name }) => name === "Square");
  assert.deepEqual([square.kind, square.range.start.line, square.selectionRange.start.character], [5, 3, 13]);
  assert.deepEqual(
    square.children.map(({ name, kind }) => [name, kind]),
    [
      ["constructor", 9],
      ["side", 7],
    ],
  );
  const { result } = await ask(page, "agent/editor/workspaceSymbols", { query: "Square" });
  assert.deepEqual(
    result
      .filter(({ name, location }) => name === "Square" && !location.uri.includes("/copy/"))
      .map(({ kind, location }) => [kind, location.uri]),
    [[5, uri(workspace, "src/shapes.ts")]],
  );
});

editorTest("code actions include their edits", async ({ page, workspace }) => {
  const start = { line: 0, character: 0 };
  const whole = { start, end: { line: 3, character: 0 } };
  const context = { diagnostics: [], only: ["source.organizeImports"] };
  const params = { ...document(workspace, "src/unsorted.ts"), range: whole, context };
  const { result } = await ask(page, "agent/editor/codeActions", params);
  const [organize] = result;
  assert.equal(organize.kind, "source.organizeImports");
  const [{ edits }] = organize.edit.documentChanges;
  assert.equal(
    apply(read(workspace, "src/unsorted.ts"), edits),
    'import { one } from "./one";\nimport { surfaceArea } from "./shapes";\nsurfaceArea({ side: one.length });\n',
  );
});

editorTest("the problems of a file that another request has just opened are complete", async ({ page, workspace }) => {
  await ask(page, "agent/editor/documentSymbols", document(workspace, "src/wrong.ts"));
  const { result } = await ask(page, "agent/editor/diagnostics", { uri: uri(workspace, "src/wrong.ts") });
  const [{ diagnostics }] = result.files;
  assert.deepEqual(
    diagnostics.map(({ range, severity }) => [range.start.line, severity]),
    [
      [0, 1],
      [1, 1],
    ],
  );
});

editorTest("an impossible rename gives a reason, and a failed lookup is empty", async ({ page, workspace }) => {
  const string = { ...at(workspace, "src/one.ts", '"./shapes"'), newName: "x" };
  const keyword = { ...at(workspace, "src/one.ts", "import"), newName: "x" };
  for (const params of [keyword, { ...string, textDocument: { uri: uri(workspace, "gone.ts") } }]) {
    const { error } = await ask(page, "agent/editor/rename", params);
    assert.equal(error.code, -32803);
    assert.match(error.message, /cannot rename|gone\.ts/i);
  }
  const plain = await ask(page, "agent/editor/definition", at(workspace, "notes.txt", "area"));
  assert.deepEqual(plain.result, []);
  assert.equal((await ask(page, "agent/editor/hover", at(workspace, "notes.txt", "area"))).result, null);
});
