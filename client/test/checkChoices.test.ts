import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptedChoice, listedChoices, runChoices, stepChoices } from "../src/features/plan/checkChoices";
import type { Plan, PlanItem } from "../src/wire/protocolStates";
import { params } from "./goldens";

const SUGGESTED = [
  { command: "npm test", source: "package.json" },
  { command: "make lint", source: "Makefile" },
];

function step(check: string, checkByUser = false): PlanItem {
  const [item] = params<Plan>("plan").items;
  assert.ok(item);
  return { ...item, check, checkByUser };
}

test("a step offers its own check first, with who set it, and “No Check” last", () => {
  const texts = (item: PlanItem): string[] =>
    stepChoices(item, SUGGESTED).map(({ label, description }) => `${label}: ${description}`);
  assert.deepEqual(texts(step("npm test")), [
    "npm test: set by the agent",
    "make lint: suggested by Makefile",
    "No Check: the agent can complete the step without a check",
  ]);
  assert.equal(texts(step("pytest", true))[0], "pytest: set by you");
  assert.deepEqual(texts(step("")), ["npm test: suggested by package.json", "make lint: suggested by Makefile"]);
});

test("the list of checks to run offers all together, then the check of each step, then the other suggestions", () => {
  const commands = runChoices([step("pytest"), step(""), step("npm test")], SUGGESTED).map(({ command }) => command);
  assert.deepEqual(commands, [undefined, "pytest", "npm test", "make lint"]);
});

test("typed text comes first, and Enter accepts it even if VS Code still shows older rows", () => {
  const choices = stepChoices(step(""), SUGGESTED);
  const rows = listedChoices(" lint ", choices);
  assert.deepEqual(
    rows.map(({ command }) => command),
    ["lint", "make lint"],
  );
  assert.equal(acceptedChoice(" lint ", rows[1], choices)?.command, "make lint");
  const two = ["npm test:unit", "npm test"].map((command) => ({ command, source: "package.json" }));
  assert.deepEqual(
    listedChoices("npm test", stepChoices(step(""), two)).map(({ command }) => command),
    ["npm test", "npm test:unit"],
  );
  const older = listedChoices("", choices)[0];
  assert.equal(acceptedChoice(" lint ", older, choices)?.command, "lint");
  assert.equal(acceptedChoice("npm test", older, choices)?.command, "npm test");
  assert.equal(acceptedChoice("", undefined, choices), undefined);
});
