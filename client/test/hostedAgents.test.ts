// Agents of other makers: the rows of the boxes, and who does a task.

import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSent, slashCompletions } from "../src/features/conversation/slashCommands";
import {
  agentRows,
  choiceRows,
  optionRows,
  optionsLabel,
  optionsOf,
  typedCommands,
} from "../src/server/hostedAgentRows";
import { Store } from "../src/state/store";
import { hostedFor } from "../src/state/taskMode";
import type { OpenedSession } from "../src/wire/protocol";
import type { HostedAgents } from "../src/wire/protocolStates";
import { golden } from "./goldens";

const listed = golden<HostedAgents>("hosted.result").result;
assert.ok(listed);
const [mine] = listed.agents;
assert.ok(mine);

test("Fairlead is the first of the agents, the current one is marked, and what must be installed is said", () => {
  const away = { ...mine, name: "claude", title: "Claude Code", isInstalled: false };
  const agents = [
    mine,
    { ...away, packages: ["a@1", "b@2"] },
    { ...away, packages: ["a@1"] },
    { ...away, packages: [] },
  ];
  const rows = agentRows(agents, "mine", "agent");
  assert.deepEqual(
    rows.map(({ label, icon, detail }) => [label, icon, detail]),
    [
      ["Fairlead", "blank", "Uses the model that you choose."],
      ["我的", "check", ""],
      ["Claude Code", "blank", "Not installed: installs 2 packages once."],
      ["Claude Code", "blank", "Not installed: installs 1 package once."],
      ["Claude Code", "blank", "Not installed."],
    ],
  );
  assert.equal(agentRows(agents, "", "agent")[0]?.icon, "check");
});

test("a list of agents says that a mode of Fairlead's own ends", () => {
  const [own, hosted] = agentRows([mine], "", "agent:reviewer");
  assert.equal(hosted?.detail, "Ends the mode reviewer, which only Fairlead has.");
  assert.doesNotMatch(own?.detail ?? "", /Ends/);
});

test("only Fairlead does a task in a mode of its own", () => {
  assert.equal(hostedFor("agent", "mine"), "mine");
  for (const mode of ["plan", "ask", "agent:reviewer"] as const) assert.equal(hostedFor(mode, "mine"), "");
  // the task goes on in a mode that only the server knows
  assert.deepEqual([hostedFor(null, undefined), hostedFor(null, "mine")], [undefined, "mine"]);
});

test("the choice belongs to the session, and a restored session has that of its last run", () => {
  const store = new Store();
  store.hostedOfNew = "claude";
  assert.equal(store.hosted, "claude");
  store.showStarting("Task", "agent");
  assert.equal(store.hosted, "claude");
  const opened = golden<OpenedSession>("sessions.open.result").result;
  assert.ok(opened);
  store.addTranscript(opened);
  store.show(opened.sessionId);
  assert.equal(store.hosted, "mine");
  store.setHosted(opened.sessionId, "");
  // what arrives later does not replace a choice of the user
  store.addTranscript(opened);
  assert.equal(store.hosted, "");
});

test("the options are those of the chosen agent, once it has worked", () => {
  const [model] = optionsOf(listed, "mine");
  assert.ok(model);
  assert.deepEqual([optionsOf(listed, "claude"), optionsOf(undefined, "mine")], [[], []]);
  const empty = { ...model, id: "none", name: "None", choices: [] };
  const [row, ...others] = optionRows([model, empty]);
  assert.deepEqual([row?.label, row?.description, others], ["模型", "大", []]);
  assert.deepEqual(
    choiceRows(model).map(({ label, icon }) => [label, icon]),
    [["大", "check"]],
  );
  assert.deepEqual(
    [optionsLabel([model]), optionsLabel([]), optionsLabel([{ ...model, category: "mode" }])],
    ["大", "", "Options"],
  );
});

test("the commands of the chosen agent are completed and sent, and Fairlead's own come first", () => {
  const commands = [
    { id: "init", name: "init", about: "Writes\nCLAUDE.md." },
    { id: "review", name: "review", about: "" },
  ];
  const known = typedCommands({ ...listed, commands }, "mine");
  assert.deepEqual(typedCommands({ ...listed, commands }, ""), []);
  assert.deepEqual(slashCompletions("/ini", [], known), [
    { label: "/init", description: "Writes CLAUDE.md.", text: "/init " },
  ]);
  assert.equal(slashCompletions("/review", [], known).length, 1);
  assert.equal(parseSent("/init now", [], known).kind, "task");
  assert.equal(parseSent("/init now", [], []).kind, "unclear");
});
