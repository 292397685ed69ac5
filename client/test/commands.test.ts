import assert from "node:assert/strict";
import { test } from "node:test";
import { CommandOutput } from "../src/features/plan/commandOutput";
import { hasChildren, childNodes, topNodes, type PlanNode } from "../src/features/plan/planNodes";
import type { AgentEvent, CommandEnded, CommandStarted } from "../src/wire/protocol";
import type { Plan } from "../src/wire/protocolStates";
import { Store } from "../src/state/store";
import { plainOutput } from "../src/ui/text";
import { params } from "./goldens";

const started = params<CommandStarted>("event.command");
const ended = params<CommandEnded>("event.command_ended");
const shown = (nodes: readonly PlanNode[]): string[] =>
  nodes.map((node) => ("row" in node ? `${node.row.label} | ${node.row.description}` : node.kind));

function begun(): Store {
  const store = new Store();
  store.startRun(started.sessionId, "Task");
  store.setPlan(params<Plan>("plan"));
  return store;
}

test("a running command has a row below its step until it ends", () => {
  const store = begun();
  const session = store.active;
  assert.ok(session);
  const below = (): string[] =>
    topNodes(session, (uri) => uri).flatMap((node) => shown(childNodes(session, node, (uri) => uri)));
  const before = below();
  store.addEvent(started);
  assert.deepEqual(below(), [...before, "cmd-1: npm run dev | running"]);
  const step = topNodes(session, (uri) => uri).find((node) => node.kind === "item" && node.item.id === "2");
  assert.ok(step?.kind === "item" && hasChildren(step));
  store.addEvent(ended);
  assert.deepEqual(below(), before);
});

test("a command without a step has its row above the steps", () => {
  const store = begun();
  store.addEvent({ ...started, itemId: null, handle: null });
  assert.ok(store.active);
  assert.equal(shown(topNodes(store.active, (uri) => uri))[0], "npm run dev | running");
});

test("a running check has no handle in its row, because it does not run in the background", () => {
  const store = begun();
  store.addEvent({ ...started, itemId: null, handle: "check-1", check: true });
  assert.ok(store.active);
  const [node] = topNodes(store.active, (uri) => uri);
  assert.ok(node?.kind === "running");
  assert.deepEqual(
    [node.row.label, node.row.tooltip, node.row.screenReaderLabel],
    ["npm run dev", "npm run dev", "npm run dev, running"],
  );
});

test("each event is passed to the listeners until they are removed", () => {
  const store = begun();
  const events: AgentEvent[] = [];
  const unsubscribe = store.onEvent((event) => events.push(event));
  store.addEvent(started);
  unsubscribe();
  store.addEvent(ended);
  assert.deepEqual(events, [started]);
});

test("a terminal shows the command, where it runs, its colored output, and how it ended", () => {
  const output = new CommandOutput(started);
  assert.equal(output.name, "cmd-1: npm run dev");
  assert.equal(output.add("\x1b[31mred\n10%\r20%"), "\x1b[31mred\r\n10%\r20%");
  assert.equal(output.end(ended), "\x1b[0m\r\n\x1b[2m[stopped · 1 min 2 s · in the sandbox]\x1b[0m\r\n");
  assert.equal(
    output.text,
    "\x1b[1m$ npm run dev\x1b[0m\r\n\x1b[2min the sandbox · with localhost:5432 · /project\x1b[0m\r\n\x1b[31mred\r\n10%\r20%\x1b[0m\r\n\x1b[2m[stopped · 1 min 2 s · in the sandbox]\x1b[0m\r\n",
  );
});

test("the header escapes invisible characters", () => {
  const output = new CommandOutput({ ...started, command: "echo \x1b[8m\u202e; rm x", handle: null });
  assert.ok(output.text.startsWith("\x1b[1m$ echo \\u{1b}[8m\\u{202e}; rm x\x1b[0m\r\n"));
});

test("only the last part of a long line is kept, even after the end of the line arrives", () => {
  const output = new CommandOutput(started);
  for (let n = 0; n < 30_000; n++) output.add(`\r${n} of thirty thousand parts of a bar`);
  assert.ok(output.text.length < 1_100_000);
  output.add(`\r${"#".repeat(900_000)}\n`);
  assert.ok(output.text.length > 400_000 && output.text.length < 600_000);
});

test("only the last part of a long output is kept, after a note that the rest is omitted", () => {
  const output = new CommandOutput(started);
  for (let n = 0; n < 30_000; n++) output.add(`a line of forty characters, number ${n}\n`);
  assert.ok(output.text.length < 1_100_000);
  assert.match(output.text, /omitted \.\.\.\]\S+\r\na line of forty characters, number \d+\r\n/);
  assert.ok(output.text.endsWith("number 29999\r\n"));
});

test("the conversation shows no colors, and only the last state of a progress bar", () => {
  assert.equal(plainOutput("\x1b[1;31mred\x1b[0m\r\n10%\r100%\ndone\r"), "red\n100%\ndone");
});
