import assert from "node:assert/strict";
import { test } from "node:test";
import { changeViews, type Changes } from "../src/features/conversation/changeViews";
import { Store } from "../src/state/store";
import type { Edits } from "../src/wire/protocolStates";
import { params } from "./goldens";

const edits = params<Edits>("edits");
const changes: Changes = { read: () => Promise.resolve(["one\n", "two\n"]), decide: () => Promise.resolve() };
const ended = {
  outcome: "ok",
  output: "",
  hasCommand: false,
  result: "",
  planUpdate: null,
  failure: "",
  refusal: null,
} as const;
const relative = (uri: string): string => uri.replace("file:///project/", "");

test("a call unfolds to its own changes, and says which of them a later call changed too", async () => {
  const file = edits.files.find(({ kind, hunks }) => kind === "modify" && hunks.length > 0);
  const [hunk] = file?.hunks ?? [];
  assert.ok(file && hunk);
  const store = new Store();
  const session = store.startRun(edits.sessionId, "Task");
  const hunks = [
    { ...hunk, id: "one", toolCallIds: ["call 1"] },
    { ...hunk, id: "both", toolCallIds: ["call 1", "call 2"] },
    { ...hunk, id: "two", toolCallIds: ["call 2"] },
  ];
  store.setEdits({ ...edits, files: [{ ...file, hunks }] });
  const views = async (id: string): Promise<unknown> => {
    const call = {
      name: "edit_file",
      isEdit: true,
      isSubagent: false,
      title: "Edit",
      locations: [{ uri: file.uri, line: null }],
    };
    session.entries.push({ kind: "tool", id, ...call, ...ended });
    const found = await changeViews(session, session.entries.length - 1, changes, relative);
    return found.map((view) => [view.id, view.isChangedLater]);
  };
  assert.deepEqual(await views("call 1"), [
    ["one", false],
    ["both", true],
  ]);
  assert.deepEqual(await views("call 2"), [
    ["both", false],
    ["two", false],
  ]);
  assert.deepEqual(await views("call 3"), []);
});

test("a command, or a call of a tool server, unfolds to its changes of all files", async () => {
  const modified = edits.files.find(({ kind, hunks }) => kind === "modify" && hunks.length > 0);
  const [hunk] = modified?.hunks ?? [];
  assert.ok(modified && hunk);
  const store = new Store();
  const session = store.startRun(edits.sessionId, "Task");
  const [ours, others] = [
    { ...hunk, toolCallIds: ["call 1"] },
    { ...hunk, toolCallIds: ["call 2"] },
  ];
  const files = [
    { ...modified, uri: "file:///project/a.txt", newUri: null, hunks: [ours, others] },
    { ...modified, uri: "file:///project/b.txt", newUri: null, hunks: [others] },
    { ...modified, uri: "file:///project/c.txt", newUri: null, kind: "create" as const, hunks: [ours] },
  ];
  store.setEdits({ ...edits, files });
  session.entries.push({
    kind: "tool",
    id: "call 1",
    name: "s__t",
    isEdit: false,
    isSubagent: false,
    title: "s: t",
    locations: [],
    ...ended,
  });
  const found = await changeViews(session, session.entries.length - 1, changes, relative);
  assert.deepEqual(
    found.map(({ uri, title }) => [uri, title]),
    [
      ["file:///project/a.txt", `a.txt · Line ${hunk.newStart}`],
      ["file:///project/c.txt", "c.txt · Line 1"],
    ],
  );
});
