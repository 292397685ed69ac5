import assert from "node:assert/strict";
import { test } from "node:test";
import { changeViews, type Changes } from "../src/features/conversation/changeViews";
import { Store } from "../src/state/store";
import type { Edits } from "../src/wire/protocolStates";
import { params } from "./goldens";

const edits = params<Edits>("edits");

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
  const changes: Changes = { read: () => Promise.resolve(["", ""]), decide: () => Promise.resolve() };
  const views = async (id: string): Promise<unknown> => {
    const call = { name: "edit_file", isEdit: true, title: "Edit", locations: [{ uri: file.uri, line: null }] };
    const ended = { outcome: "ok", output: "", result: "", planUpdate: null, failure: "", refusal: null } as const;
    session.entries.push({ kind: "tool", id, ...call, ...ended });
    const found = await changeViews(session, session.entries.length - 1, changes);
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
