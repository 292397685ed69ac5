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
} from "../src/review/changeNavigation";
import type { Edits, FileEdits, Hunk, Target } from "../src/protocol";
import type { Session } from "../src/session";
import { Store } from "../src/state";
import { normalizedText, hasUniformLineEndings } from "../src/ui/text";

const hunk = (id: string, newStart: number, newLines = 1): Hunk => ({
  id,
  oldStart: newStart,
  oldLines: 1,
  newStart,
  newLines,
  itemId: null,
  state: "pending",
  conflict: null,
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
});

function session(...files: FileEdits[]): readonly Session[] {
  const store = new Store();
  const edits: Edits = { sessionId: "s", version: 1, files, undoLabel: null, redoLabel: null };
  store.setEdits(edits);
  return store.reviewable;
}

const all = changeLocations(
  session(
    file("gone", "delete", hunk("a", 0, 0)),
    file("one", "modify", hunk("b", 3), hunk("c", 9)),
    file("new", "create"),
  ),
);
const spoken = (place: ReturnType<typeof adjacentChange>): string =>
  `${place?.file.uri.split("/").at(-1) ?? ""} ${place?.line ?? ""}`;
const from = (name: string, line: number, direction: "next" | "previous"): string =>
  spoken(adjacentChange(all, { sessionId: "s", uri: `file:///project/${name}`, line }, direction));

test("every hunk is a place, and a file that is created, deleted or renamed is one", () => {
  assert.deepEqual(all.map(spoken), ["gone 1", "one 3", "one 9", "new 1"]);
  assert.deepEqual(
    all.map((place) => place.hunk?.id),
    [undefined, "b", "c", undefined],
  );
});

test("from each line there is a next place and one before, through all files and around", () => {
  assert.deepEqual(
    [from("one", 1, "next"), from("one", 3, "next"), from("one", 9, "next"), from("new", 1, "next")],
    ["one 3", "one 9", "new 1", "gone 1"],
  );
  assert.deepEqual(
    [from("one", 5, "previous"), from("one", 3, "previous"), from("gone", 1, "previous")],
    ["one 3", "gone 1", "new 1"],
  );
});

test("from elsewhere the first place is next and the last one before", () => {
  assert.equal(spoken(adjacentChange(all, undefined, "next")), "gone 1");
  assert.equal(from("unknown", 4, "previous"), "new 1");
  assert.equal(adjacentChange([], undefined, "next"), undefined);
});

test("after a decision the review goes on at the next change that is left, around, and stays where something is undecided", () => {
  const [gone, one, fresh] = [
    file("gone", "delete", hunk("a", 0, 0)),
    file("one", "modify", hunk("b", 3), hunk("c", 9)),
    file("new", "create"),
  ];
  const uri = (name: string): string => `file:///project/${name}`;
  const after = (target: Target, ...left: FileEdits[]): string =>
    spoken(nextAfterDecision(all, changeLocations(session(...left)), (place) => isInTarget("s", target, place)));
  const second = file("one", "modify", hunk("c", 10));
  assert.equal(
    after({ uri: uri("one"), hunk: "b" }, gone, second, fresh),
    "one 10",
    "the next change of the file, where it is now",
  );
  assert.equal(after({ uri: uri("one"), hunk: "c" }, gone, file("one", "modify", hunk("b", 3)), fresh), "new 1");
  assert.equal(after({ uri: uri("one") }, gone, fresh), "new 1");
  assert.equal(after({ uri: uri("new") }, gone, one), "gone 1", "from the last file to the first");
  assert.equal(after({ uri: uri("one") }, gone, second, fresh), " ", "a conflict was left");
  assert.equal(after({ all: true }), " ");
  assert.equal(
    nextAfterDecision(all, all, (place) => isInTarget("another", { all: true }, place))?.file.uri,
    uri("gone"),
  );
});

test("a line belongs to the hunk around it, on either side; a gap belongs to the lines beside it", () => {
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

test("in the text of one step its changes stand where only they move the lines", () => {
  const by = (
    itemId: string,
    id: string,
    [oldStart, oldLines]: [number, number],
    [newStart, newLines]: [number, number],
  ): Hunk => ({ ...hunk(id, newStart, newLines), oldStart, oldLines, itemId });
  // step 1 puts 3 lines behind line 2; step 2 replaces line 5, takes line 8 out and puts one behind line 9
  const hunks = [
    by("1", "a", [2, 0], [3, 3]),
    by("2", "b", [5, 1], [8, 2]),
    by("2", "c", [8, 1], [11, 0]),
    by("2", "d", [9, 0], [13, 1]),
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

test("line ends that VS Code keeps are told from those that it makes alike", () => {
  assert.deepEqual(["", "a", "a\nb\n", "a\r\nb\r\n"].map(hasUniformLineEndings), [true, true, true, true]);
  assert.deepEqual(["a\r\nb\n", "a\rb"].map(hasUniformLineEndings), [false, false]);
  assert.equal(normalizedText("\ufeffa\r\nb"), normalizedText("a\nb"));
});
