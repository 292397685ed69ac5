import assert from "node:assert/strict";
import { test } from "node:test";
import { modelChoices, modelLabel, withChosen } from "../src/server/modelChoices";

const labels = (...given: Parameters<typeof modelChoices>): string[] =>
  modelChoices(...given).map((row) => (row.kind === "setting" && row.isCurrent ? `✓ ${row.label}` : row.label));

test("the current model and effort have a check mark, and each model is there once", () => {
  const shown = labels("b", "high", ["a", "b"]);
  assert.deepEqual(shown.slice(1, 5), ["✓ b", "a", "Default model", "Other Model..."]);
  const efforts = ["The model's default", "Low", "Medium", "✓ High", "Extra High", "Maximum"];
  assert.deepEqual(shown.slice(6, 12), efforts);
});

test("a current effort that is not in the list of efforts is also a choice", () => {
  assert.deepEqual(labels("a", "minimal", []).slice(5, 12), [
    "The model's default",
    "Low",
    "Medium",
    "High",
    "Extra High",
    "Maximum",
    "✓ minimal",
  ]);
});

test("the model's label has the effort if one is set", () => {
  assert.deepEqual(
    [modelLabel("a", ""), modelLabel("a", "low"), modelLabel("a", "minimal"), modelLabel("", "low")],
    ["a", "a · Low", "a · minimal", "Default model · Low"],
  );
});

test("the models that were chosen are remembered, the last one first, each once", () => {
  assert.deepEqual(withChosen("b", ["a", "b", "c"]), ["b", "a", "c"]);
  assert.equal(withChosen("x", ["1", "2", "3", "4", "5"]).length, 5);
});
