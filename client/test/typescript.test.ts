import assert from "node:assert/strict";
import { test } from "node:test";
import { joined, typeScriptProblems } from "../src/features/code/typescript";

const place = (line: number, offset: number) => ({ line, offset });
const WRONG = { start: place(1, 14), end: place(1, 19), text: "Type …", category: "error", code: 2322 };
const UNUSED = { start: place(2, 1), end: place(2, 9), text: "Unused", category: "suggestion", source: "plugin" };

test("TypeScript's problems have LSP's positions and severities", async () => {
  const answers: Record<string, unknown> = {
    semanticDiagnosticsSync: { type: "response", body: [WRONG] },
    suggestionDiagnosticsSync: { type: "response", body: [UNUSED] },
    syntacticDiagnosticsSync: { type: "cancelled" },
  };
  const found = await typeScriptProblems("typescript", (request) => Promise.resolve(answers[request]));
  const range = (line: number, start: number, end: number) => ({
    start: { line, character: start },
    end: { line, character: end },
  });
  assert.deepEqual(found, [
    { range: range(0, 13, 18), severity: 1, message: "Type …", source: "ts" },
    { range: range(1, 0, 8), severity: 4, message: "Unused", source: "plugin" },
  ]);
  assert.deepEqual(joined(found.slice(0, 1), found), found);
});

test("there are no problems without TypeScript's support or in other languages", async () => {
  assert.deepEqual(await typeScriptProblems("javascript", () => Promise.reject(new Error("no command"))), []);
  assert.deepEqual(await typeScriptProblems("javascript", () => Promise.resolve(undefined)), []);
  assert.deepEqual(await typeScriptProblems("python", () => Promise.resolve({ body: [WRONG] })), []);
});
