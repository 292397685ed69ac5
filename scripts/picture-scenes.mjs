// What `npm run pictures` shows of subagents, hooks, agents in files and hosted agents: the files of each workspace and the model's answers.

import fs from "node:fs";
import path from "node:path";
import { root } from "./process.mjs";

const workspace = path.join(root, "server/fairlead/example/workspace");
const EXAMPLE = Object.fromEntries(
  fs.readdirSync(workspace).map((name) => [name, fs.readFileSync(path.join(workspace, name), "utf8")]),
);
const agent = (about, more, text) => `---\ndescription: ${about}\n${more}---\n${text}\n`;

export const AGENTS = {
  ...EXAMPLE,
  ".claude/agents/reviewer.md": agent("Reviews code, changes nothing", "tools: Read, Grep\n", "Report what matters."),
  ".claude/agents/tester.md": agent("Writes tests for one module", "", "Cover each branch with a test."),
  ".github/agents/translator.agent.md": agent("Translates the texts of the program", "", "Translate all texts."),
};

export const HOSTED = EXAMPLE;
export const HOSTED_PROMPT = "Importing hello must greet nobody. Describe it in a README";

const LOOP = EXAMPLE["hello.py"].slice(EXAMPLE["hello.py"].indexOf("names ="));
const GUARDED = `if __name__ == "__main__":\n${LOOP.replace(/^(?=.)/gm, "    ")}`;
const setTask = (taskId, status) => ["TaskUpdate", { taskId, status }];

/** What the model of the real Claude Code answers to the prompt (tests/real_agents/stand_in.py). */
export const HOSTED_WORK = [
  ["TaskCreate", { subject: "Guard the loop", description: "In hello.py", activeForm: "Guarding the loop" }],
  ["TaskCreate", { subject: "Describe it in a README", description: "Briefly", activeForm: "Describing it" }],
  setTask("1", "in_progress"),
  ["Read", { file_path: "hello.py" }],
  ["Edit", { file_path: "hello.py", old_string: LOOP, new_string: GUARDED }],
  ["Bash", { command: "python3 hello.py Ada", description: "Greet Ada" }],
  setTask("1", "completed"),
  setTask("2", "in_progress"),
  [
    "Write",
    {
      file_path: "README.md",
      content: "# Hello\n\nGreets by the time of day: `python3 hello.py Ada`\n",
    },
  ],
  setTask("2", "completed"),
  "Importing hello greets nobody now, and the README describes how to run it.",
];

const TEST = `
    def test_the_parts_of_the_day(self):
        code = "from hello import part_of_day as p; print(p(4), p(5), p(12), p(18))"
        self.assertEqual(run("-c", code).split(), ["night", "morning", "afternoon", "evening"])
`;
const BEFORE = `        self.assertIn(", ADA!", run("hello.py", "Ada", "--shout"))\n`;

/** The turns of a task with two subagents that work at the same time, and the seconds after each word. */
export function subagentTurns({ plan }) {
  const steps = (first) =>
    plan(["Test part_of_day", first, "Testing part_of_day"], ["Describe the program in a README", "pending"]);
  const report =
    "hello.py is a program of one file. Only the loop at its end calls greeting, for each name that the command line gives. " +
    "part_of_day is called by greeting alone, and nothing checks its hours: 24 counts as evening, and so does each larger number. " +
    "The tests start the program as a process and read what it prints.";
  return {
    pace: 0.12,
    turns: [
      {
        text: "I let two subagents work at once.",
        calls: [
          steps("in_progress"),
          { explore: { title: "Find who calls part_of_day", task: "Who calls part_of_day?" } },
          { delegate: { agent: "tester", title: "Cover each part of the day", task: "Test part_of_day." } },
        ],
      },
      { text: report },
      { calls: [{ read_file: { path: "test_hello.py" } }] },
      { calls: [{ edit_file: { path: "test_hello.py", old_text: BEFORE, new_text: `${BEFORE}${TEST}` } }] },
      {
        text: "part_of_day has a test for each part of the day and for the hours between them. It passes once importing hello greets nobody.",
      },
      { calls: [steps("completed")], text: "Both have reported." },
      { text: "`part_of_day` is tested. The README is next." },
    ],
  };
}

export const HOOKS = {
  "prices.py":
    "PRICES = {'tea': 2.5, 'coffee': 3.0}\n\n\ndef total(order):\n    return sum(PRICES[name] * count for name, count in order.items())\n",
  ".claude/settings.json": JSON.stringify(
    {
      hooks: {
        PostToolUse: [{ matcher: "Edit|Write", hooks: [{ type: "command", command: "sh scripts/format.sh" }] }],
      },
    },
    null,
    2,
  ),
  "scripts/format.sh": '#!/bin/sh\n# the formatter of the project\nsed -i "s/\'/\\"/g" prices.py\n',
};
export const OWN_HOOKS = { hooks: { Stop: [{ hooks: [{ command: "make --silent lint" }] }] } };

/** The turns of a task after which a formatter has changed more lines of the file. */
export function hookTurns({ plan, edit }) {
  const step = (status) => plan(["Round the total", status, "Rounding the total"]);
  const old = "return sum(PRICES[name] * count for name, count in order.items())";
  return {
    turns: [
      { calls: [step("in_progress"), edit("prices.py", old, `return round(${old.slice(7)}, 2)`)] },
      { calls: [step("completed")] },
      { text: "`total` is rounded to cents." },
    ],
  };
}
