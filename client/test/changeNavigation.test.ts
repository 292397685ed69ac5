import assert from "node:assert/strict";
import { test } from "node:test";
import {
  nextAfterDecision,
  hunkAt,
  isInTarget,
  adjacentChange,
  editsOfStep,
  changeLocations,
  lineInFullText,
  lineOfBaseInFullText,
  shownTarget,
} from "../src/features/review/changeNavigation";
import type { Target } from "../src/wire/protocol";
import type { Edits, FileEdits, Hunk } from "../src/wire/protocolStates";
import type { Session } from "../src/state/session";
import { Store } from "../src/state/store";
import { normalizedText, hasUniformLineEndings } from "../src/ui/text";

const hunk = (id: string, newStart: number, newLines = 1): Hunk => ({
  id,
  oldStart: newStart,
  oldLines: 1,
  newStart,
  newLines,
  snippet: "",
  itemId: null,
  toolCallIds: [],
  state: "pending",
  conflict: null,
  weakens: [],
});

const file = (name: string, kind: FileEdits["kind"], ...hunks: Hunk[]): FileEdits => ({
  uri: `file:///project/${name}`,
  kind,
  newUri: null,
  state: "pending",
  risk: null,
  binary: false,
  mode: null,
  protected: false,
  itemIds: [],
  overtaken: [],
  additions: 0,
  deletions: 0,
  hunks,
  weakens: [],
  unread: false,
  problems: [],
});

function sessionsWith(...files: FileEdits[]): readonly Session[] {
  const store = new Store();
  const edits: Edits = {
    sessionId: "s",
    version: 1,
    files,
    undoLabel: null,
    redoLabel: null,
    checked: null,
    smallest: null,
    needed: null,
  };
  store.setEdits(edits);
  return store.reviewable;
}

const all = changeLocations(
  sessionsWith(
    file("deleted", "delete", hunk("a", 0, 0)),
    file("one", "modify", hunk("b", 3), hunk("c", 9)),
    file("new", "create"),
  ),
);
const labelOf = (location: ReturnType<typeof adjacentChange>): string =>
  `${location?.file.uri.split("/").at(-1) ?? ""} ${location?.line ?? ""}`;
const labelFrom = (name: string, line: number, direction: "next" | "previous"): string =>
  labelOf(adjacentChange(all, { sessionId: "s", uri: `file:///project/${name}`, line }, direction));

test("each hunk is a change, and a created, deleted or renamed file is one change", () => {
  assert.deepEqual(all.map(labelOf), ["deleted 1", "one 3", "one 9", "new 1"]);
  assert.deepEqual(
    all.map((location) => location.hunk?.id),
    [undefined, "b", "c", undefined],
  );
});

test("each line has a next and a previous change, across files and wrapping around", () => {
  assert.deepEqual(
    [
      labelFrom("one", 1, "next"),
      labelFrom("one", 3, "next"),
      labelFrom("one", 9, "next"),
      labelFrom("new", 1, "next"),
    ],
    ["one 3", "one 9", "new 1", "deleted 1"],
  );
  assert.deepEqual(
    [labelFrom("one", 5, "previous"), labelFrom("one", 3, "previous"), labelFrom("deleted", 1, "previous")],
    ["one 3", "deleted 1", "new 1"],
  );
});

test("outside of the diffs, “next” is the first change and “previous” is the last", () => {
  assert.equal(labelOf(adjacentChange(all, undefined, "next")), "deleted 1");
  assert.equal(labelFrom("unknown", 4, "previous"), "new 1");
  assert.equal(adjacentChange([], undefined, "next"), undefined);
});

test("after a decision, the next undecided change is shown, unless a change of the decision is still there", () => {
  const [deleted, one, fresh] = [
    file("deleted", "delete", hunk("a", 0, 0)),
    file("one", "modify", hunk("b", 3), hunk("c", 9)),
    file("new", "create"),
  ];
  const uri = (name: string): string => `file:///project/${name}`;
  const after = (target: Target, ...left: FileEdits[]): string =>
    labelOf(
      nextAfterDecision(all, changeLocations(sessionsWith(...left)), (location) => isInTarget("s", target, location)),
    );
  const second = file("one", "modify", hunk("c", 10));
  assert.equal(
    after({ uri: uri("one"), hunk: "b" }, deleted, second, fresh),
    "one 10",
    "the next change to the file, where it is now",
  );
  assert.equal(after({ uri: uri("one"), hunk: "c" }, deleted, file("one", "modify", hunk("b", 3)), fresh), "new 1");
  assert.equal(after({ uri: uri("one") }, deleted, fresh), "new 1");
  assert.equal(after({ uri: uri("new") }, deleted, one), "deleted 1", "from the last file to the first");
  assert.equal(after({ uri: uri("one") }, deleted, second, fresh), " ", "a conflict was left");
  assert.equal(
    after(
      {
        changes: [
          { uri: uri("one"), hunk: "b" },
          { uri: uri("deleted"), hunk: null },
        ],
      },
      second,
      fresh,
    ),
    "one 10",
  );
  assert.equal(after({ all: true }), " ");
  assert.equal(
    nextAfterDecision(all, all, (location) => isInTarget("another", { all: true }, location))?.file.uri,
    uri("deleted"),
  );
});

test("on either side, a line belongs to the hunk around it, or to a hunk without lines next to it", () => {
  const changed = file("one", "modify", hunk("b", 3, 2), hunk("gap", 9, 0));
  assert.deepEqual(
    [2, 3, 4, 5, 9, 10, 11].map((line) => hunkAt(changed, "proposed", line)?.id),
    [undefined, "b", "b", undefined, "gap", "gap", undefined],
  );
  assert.deepEqual(
    [3, 4, 9].map((line) => hunkAt(changed, "base", line)?.id),
    ["b", undefined, "gap"],
  );
});

test("in the text of one step, only its own changes move the lines", () => {
  const stepHunk = (
    itemId: string,
    id: string,
    [oldStart, oldLines]: [number, number],
    [newStart, newLines]: [number, number],
  ): Hunk => ({ ...hunk(id, newStart, newLines), oldStart, oldLines, itemId });
  // step 1 inserts 3 lines after line 2; step 2 replaces line 5, removes line 8 and inserts one after line 9
  const hunks = [
    stepHunk("1", "a", [2, 0], [3, 3]),
    stepHunk("2", "b", [5, 1], [8, 2]),
    stepHunk("2", "c", [8, 1], [11, 0]),
    stepHunk("2", "d", [9, 0], [13, 1]),
  ];
  const changed = file("one", "modify", ...hunks);
  assert.deepEqual(
    editsOfStep(changed, "2").hunks.map(({ id, newStart }) => [id, newStart]),
    [
      ["b", 5],
      ["c", 8],
      ["d", 10],
    ],
  );
  assert.deepEqual(
    [5, 6, 7, 8, 10].map((line) => hunkAt(editsOfStep(changed, "2"), "proposed", line)?.id),
    ["b", "b", undefined, "c", "d"],
  );
  assert.deepEqual(
    [1, 5, 6, 10].map((line) => lineInFullText(changed, "2", line)),
    [1, 8, 9, 13],
  );
});

test("a decision on a file in the diff of a step applies to the hunks that the diff shows", () => {
  const of = (id: string, itemId: string | null): Hunk => ({ ...hunk(id, 3), itemId });
  const { uri } = file("one", "modify");
  const target = (item: string | undefined, ...hunks: Hunk[]): Target | undefined =>
    // as from the server: hunks without an item add nothing to `itemIds`
    shownTarget({ ...file("one", "modify", ...hunks), itemIds: ["1"] }, item);
  assert.deepEqual(target("1", of("a", "1"), of("b", null), of("c", "1")), {
    changes: [
      { uri, hunk: "a" },
      { uri, hunk: "c" },
    ],
  });
  assert.deepEqual(target("1", of("a", "1"), of("c", "1")), { uri });
  assert.deepEqual(target(undefined, of("a", "1"), of("b", null)), { uri });
  assert.equal(target("2", of("a", "1"), of("b", null)), undefined, "all its hunks are already decided");
  assert.deepEqual(shownTarget({ ...file("one", "create", of("a", "1")), itemIds: ["1"] }, "1"), { uri });
});

test("line endings that VS Code preserves are distinguished from those that it changes", () => {
  assert.deepEqual(["", "a", "a\nb\n", "a\r\nb\r\n"].map(hasUniformLineEndings), [true, true, true, true]);
  assert.deepEqual(["a\r\nb\n", "a\rb"].map(hasUniformLineEndings), [false, false]);
  assert.equal(normalizedText("\ufeffa\r\nb"), normalizedText("a\nb"));
});

test("a line of the base side corresponds to a line of the proposed text", () => {
  const edited = file(
    "one",
    "modify",
    { ...hunk("added", 3, 4), oldStart: 2, oldLines: 0 },
    { ...hunk("changed", 9), oldStart: 5, oldLines: 2 },
    { ...hunk("removed", 12, 0), oldStart: 10, oldLines: 1 },
  );
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 9, 10, 11].map((line) => lineOfBaseInFullText(edited, line)),
    [1, 2, 7, 8, 9, 9, 10, 12, 12, 13],
    "the same line, moved by the changes above it; in a change, the line of the change",
  );
  const locations = changeLocations(sessionsWith(edited));
  const position = { sessionId: "s", uri: edited.uri, line: lineOfBaseInFullText(edited, 5) };
  assert.equal(adjacentChange(locations, position, "next")?.hunk?.id, "removed");
  assert.equal(adjacentChange(locations, position, "previous")?.hunk?.id, "added");
});
