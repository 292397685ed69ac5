import assert from "node:assert/strict";
import { test } from "node:test";
import { skillCompletions } from "../src/context/completions";
import { acceptedPrompt, completedText, promptChoices } from "../src/features/sessions/promptChoices";

const earlier = ["Fix the tests", "Add a\nheading"];

test("an empty box lists the earlier tasks below a heading, and Enter on the heading runs nothing", () => {
  const [heading, ...rows] = promptChoices("", earlier);
  assert.deepEqual(
    rows.map(({ icon, label }) => [icon, label]),
    [
      ["history", "Fix the tests"],
      ["history", "Add a\nheading"],
    ],
  );
  assert.deepEqual(
    [heading, ...rows].map((choice) => acceptedPrompt("", choice)),
    [undefined, ...earlier],
  );
  assert.equal(acceptedPrompt("  ", undefined), undefined);
  assert.deepEqual(promptChoices("", []), []);
});

test("Enter runs the typed text", () => {
  assert.deepEqual(
    promptChoices("Fix", earlier).map((choice) => acceptedPrompt("Fix", choice)),
    ["Fix"],
  );
});

test("whichever row VS Code selected before, Enter runs the text in the box or nothing", () => {
  const texts = ["", "  ", "Fix", "Fix the tests", "Add"];
  for (const before of texts) {
    for (const typed of texts.filter((text) => text !== before)) {
      const after = promptChoices(typed, earlier);
      for (const position of promptChoices(before, earlier).keys()) {
        const areBothBlank = before.trim() === "" && typed.trim() === "";
        if (!areBothBlank)
          assert.equal(
            acceptedPrompt(typed, after[position]),
            typed.trim() || undefined,
            JSON.stringify([before, typed, position]),
          );
      }
    }
  }
});

test("a / lists the skills for the user, and Enter completes one until its name is complete", () => {
  const skill = {
    kind: "skill",
    description: "Greets.",
    hint: "<name>",
    uri: "",
    isForModel: true,
    isFromWorkspace: true,
  } as const;
  const skills = [
    { ...skill, name: "greet", isForUser: true },
    { ...skill, name: "grow", isForUser: false },
  ];
  const choices = (typed: string) => promptChoices(typed, [], skillCompletions(typed, skills));
  assert.deepEqual(
    choices("/g").map(({ label, description }) => [label, description]),
    [
      ["/greet", "<name> · Greets."],
      ["Run", "/g"],
    ],
  );
  assert.equal(completedText("/g", choices("/g")[0], choices("/g")), "/greet ");
  assert.equal(completedText("/g", choices("/g")[1], choices("/g")), undefined);
  assert.equal(acceptedPrompt("/greet", choices("/greet")[0]), "/greet");
  for (const typed of ["/greet Ada", "Say /g", "/x", "g"])
    assert.deepEqual(
      choices(typed).map(({ label }) => label),
      [typed],
    );
});
