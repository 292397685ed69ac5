// The rows of the Proposed Changes view, and the progress of a review.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  allRows,
  childRows,
  isEditRow,
  neighborRow,
  newName,
  parentRow,
  pendingFiles,
  positionText,
  ReviewProgress,
  rowId,
  type EditRow,
} from "../src/features/review/editRows";
import { fingerprint } from "../src/ui/fingerprint";
import { isAllInConflict } from "../src/features/review/changeNavigation";
import { problemLines } from "../src/ui/problemTexts";
import type { Diagnostic, Edits, FileEdits, Hunk } from "../src/wire/protocolStates";
import { withKnownRow } from "../src/ui/rowCommands";
import type { Session } from "../src/state/session";
import { Store } from "../src/state/store";
import { params } from "./goldens";

const relative = (uri: string): string => decodeURIComponent(uri.replace("file:///project/", ""));

function sessions(...ids: string[]): Session[] {
  const store = new Store();
  for (const id of ids) {
    store.startRun(id, `Task ${id}`);
    store.setEdits({ ...params<Edits>("edits"), sessionId: id });
  }
  return [...store.reviewable];
}

const rowOf = (rows: readonly EditRow[], name: string): EditRow | undefined =>
  rows.find((row) => row.kind === "file" && relative(row.file.uri) === name);
const label = (row: EditRow | undefined): string =>
  row?.kind === "file" ? relative(row.file.uri) : (row?.label ?? "");

test("the files of one session are at the top level; those of several sessions are below their tasks", () => {
  const [only] = [childRows(sessions("a"), undefined, relative)];
  assert.ok(only.every((row) => row.kind === "file"));
  const two = sessions("a", "b");
  const roots = childRows(two, undefined, relative);
  assert.deepEqual(roots.map(label), ["Task b", "Task a"]);
  assert.ok(childRows(two, roots[0], relative).every((row) => row.kind === "file" && row.sessionId === "b"));
  assert.equal(pendingFiles(two), 2 * only.length);
});

test("a file's hunks are named by their lines; a created, deleted or renamed file has none", () => {
  const rows = childRows(sessions("a"), undefined, relative);
  const below = (name: string): string[] => childRows(sessions("a"), rowOf(rows, name), relative).map(label);
  assert.deepEqual(below("src/問候.py"), ["Line 2", "Line 6"]);
  const [first] = childRows(sessions("a"), rowOf(rows, "src/問候.py"), relative);
  assert.equal(first?.description, '+1 −1 · return "你好"');
  assert.deepEqual(["docs/new file.md", "alt.txt", "logo.png", "run.sh"].map(below), [[], [], [], []]);
});

test("the description shows the kind and the risk of a change", () => {
  const rows = childRows(sessions("a"), undefined, relative);
  assert.match(rowOf(rows, "docs/new file.md")?.description ?? "", /new/);
  assert.match(rowOf(rows, "alt.txt")?.description ?? "", /^deletion · /);
  assert.match(rowOf(rows, "setup.cfg")?.description ?? "", /configuration · conflict/);
  assert.match(rowOf(rows, "logo.png")?.description ?? "", /new · binary$/);
  assert.match(rowOf(rows, "run.sh")?.description ?? "", /executable · \+1 −1$/);
});

test("a file that could not be accepted says why, until it is decided again or nothing is proposed for it", () => {
  const store = new Store();
  const edits = params<Edits>("edits");
  const [file] = edits.files;
  assert.ok(file);
  const outcome = { uri: file.uri, hunk: null, message: "This file is read-only.", texts: [] };
  const shown = (): string | undefined => {
    const row = rowOf(childRows(store.reviewable, undefined, relative), relative(file.uri));
    return row?.kind === "file" && row.description.includes("not accepted") ? row.tooltip : undefined;
  };
  store.setEdits(edits);
  store.setRefusals(edits.sessionId, [{ ...outcome, outcome: "failed" }]);
  assert.match(shown() ?? "", /^Not accepted: This file is read-only\.$/m);
  store.setRefusals(edits.sessionId, [{ ...outcome, outcome: "conflict" }]);
  assert.equal(shown(), undefined);
  store.setRefusals(edits.sessionId, [{ ...outcome, outcome: "failed" }]);
  store.setEdits({ ...edits, version: edits.version + 1, files: edits.files.slice(1) });
  store.setEdits({ ...edits, version: edits.version + 2 });
  assert.equal(shown(), undefined);
});

test("the position counts the changes of the file and the files of all sessions", () => {
  const two = sessions("a", "b");
  const [only] = sessions("a");
  const [, last] = two;
  const file = last?.edits?.files.find(({ hunks }) => hunks.length === 2);
  assert.ok(only && last && file);
  const all = two.flatMap(({ edits }) => edits?.files ?? []);
  const number = all.length / 2 + (last.edits?.files.indexOf(file) ?? 0) + 1;
  const place = { sessionId: last.id, file, hunk: file.hunks[1] };
  assert.equal(positionText(two, place), `Change 2 of 2, file ${number} of ${all.length}`);
  assert.equal(positionText(two, { ...place, hunk: undefined }), `File ${number} of ${all.length}`);
  const alone = { ...only, edits: only.edits && { ...only.edits, files: [file] } };
  assert.equal(positionText([alone], { ...place, sessionId: only.id }), "Change 2 of 2");
  assert.equal(positionText([alone], { ...place, sessionId: only.id, hunk: undefined }), "");
});

test("a renamed file shows its new name, with the folder if that changes", () => {
  const [file] = params<Edits>("edits").files;
  assert.ok(file);
  const renamed = (to: string): string =>
    newName({ ...file, uri: "file:///project/a/old", newUri: `file:///project/${to}` }, relative);
  assert.deepEqual([renamed("a/new"), renamed("b/old")], ["new", "b/old"]);
});

test("after a row is removed, the next row that is not below it is focused, or else the previous one", () => {
  const rows = allRows(sessions("a"), relative);
  const labels = rows.map(label);
  const at = (index: number): EditRow => {
    const row = rows.at(index);
    assert.ok(row);
    return row;
  };
  const beside = (index: number): string => label(neighborRow(rows, at(index)));
  const file = labels.indexOf("src/問候.py");
  assert.deepEqual(labels.slice(file - 1), ["docs/new file.md", "src/問候.py", "Line 2", "Line 6"]);
  assert.deepEqual([beside(file), beside(file + 1), beside(file + 2)], ["docs/new file.md", "Line 6", "Line 2"]);
  assert.deepEqual([labels[0], beside(0)], ["setup.cfg", "alt.txt"]);
  assert.equal(label(parentRow(rows, at(file + 1))), "src/問候.py");
  assert.equal(parentRow(rows, at(file)), undefined);
});

test("files are below the folders that they are sorted by, except for those that come first", () => {
  const [session] = sessions("a");
  const [file] = session?.edits?.files ?? [];
  assert.ok(session?.edits && file);
  const at = (path: string, risk: FileEdits["risk"] = null): FileEdits => ({
    ...file,
    uri: `file:///project/${path}`,
    risk,
    protected: false,
  });
  const files = [at("z/gone.py", "deletion"), at("a.py"), at("src/b.py"), at("src/c.py"), at("src/deep/d.py")];
  const listed = [{ ...session, edits: { ...session.edits, files } }];
  const rows = allRows(listed, relative, true).filter(({ kind }) => kind !== "hunk");
  const texts = rows.map((row) => [row.kind, label(row)]);
  assert.deepEqual(texts, [
    ["file", "z/gone.py"],
    ["file", "a.py"],
    ["folder", "src"],
    ["file", "src/b.py"],
    ["file", "src/c.py"],
    ["folder", "src/deep"],
    ["file", "src/deep/d.py"],
  ]);
  const [gone, , src, b, , deep] = rows;
  assert.ok(gone && src && b && deep);
  assert.ok(gone.description.startsWith("z · "));
  assert.ok(!b.description.includes("src"));
  assert.equal(parentRow(rows, b), src);
  assert.equal(parentRow(rows, deep), undefined);
  assert.equal(neighborRow(rows, src), deep);
  assert.ok(src.kind === "folder" && src.description === "2 files");
});

test("a command whose row is unknown does not run; one without arguments does", () => {
  const did: unknown[] = [];
  const { accept } = withKnownRow({ accept: (row?: string) => did.push(row ?? "what is in front") }, () =>
    did.push("unknown row"),
  );
  for (const given of [["a row"], [undefined], [undefined, []], []])
    (accept as (...given: unknown[]) => unknown)(...given);
  assert.deepEqual(did, ["a row", "unknown row", "unknown row", "what is in front"]);
});

test("a row is distinguished from the URI that VS Code passes to a command in a diff's title", () => {
  assert.ok(allRows(sessions("a"), relative).every(isEditRow));
  for (const other of [undefined, null, "a", { scheme: "fairlead-proposed", path: "/a.txt" }])
    assert.equal(isEditRow(other), false);
});

test("the fingerprint changes only when a row changes, and stays short even if many rows share a file", () => {
  const drawn = (given: readonly Session[]): string => fingerprint(allRows(given, relative));
  const before = drawn(sessions("a", "b"));
  assert.equal(drawn(sessions("a", "b")), before);
  assert.notEqual(drawn(sessions("b", "a")), before);
  const edits = params<Edits>("edits");
  for (const { uri } of edits.files) {
    const other = edits.files.map((file) => (file.uri === uri ? { ...file, additions: file.additions + 1 } : file));
    const store = new Store();
    store.startRun("a", "Task a");
    store.setEdits({ ...edits, sessionId: "a", files: other });
    assert.notEqual(drawn([...store.reviewable]), drawn(sessions("a")), uri);
  }
  const [file] = edits.files.filter(({ hunks }) => hunks.length > 0);
  assert.ok(file?.hunks[0]);
  const store = new Store();
  store.startRun("a", "Task a");
  store.setEdits({
    ...edits,
    sessionId: "a",
    files: [{ ...file, hunks: Array.from({ length: 2000 }, () => ({ ...file.hunks[0] }) as Hunk) }],
  });
  assert.ok(drawn([...store.reviewable]).length < 5 * JSON.stringify(store.active?.edits).length);
});

test("a file that the user deleted says so once, and is decided as a whole", () => {
  const [session] = sessions("s1");
  const file = session?.edits?.files.find(({ kind, hunks }) => kind === "modify" && hunks.length > 0);
  assert.ok(session?.edits && file);
  const conflict = { base: "a", current: null, proposed: "b" };
  const deleted = {
    ...file,
    state: "conflict" as const,
    hunks: file.hunks.map((hunk) => ({ ...hunk, state: "conflict" as const, conflict })),
  };
  const rows = allRows([{ ...session, edits: { ...session.edits, files: [deleted] } }], relative);
  const texts = rows
    .flatMap((row) => (row.kind === "file" || row.kind === "hunk" ? [row] : []))
    .map((row) => [row.kind, row.tooltip.split("\n").at(-1), row.description.includes("you deleted it")]);
  assert.deepEqual(texts, [["file", "You deleted this file after the edit was proposed.", true]]);
});

test("a file is in conflict as a whole if all its changes are", () => {
  const [session] = sessions("s1");
  const file = session?.edits?.files.find(({ kind, hunks }) => kind === "modify" && hunks.length > 0);
  const [hunk] = file?.hunks ?? [];
  assert.ok(file && hunk);
  const conflict = { base: "a", current: "c", proposed: "b" };
  const both: Hunk = { ...hunk, state: "conflict", conflict };
  assert.ok(isAllInConflict({ ...file, state: "conflict", hunks: [both] }));
  assert.ok(
    !isAllInConflict({
      ...file,
      state: "conflict",
      hunks: [both, { ...hunk, id: "x", state: "pending", conflict: null }],
    }),
  );
});

test("the view's title counts the files left to review; an undo continues the review, the next run starts another", () => {
  let saved: readonly string[] = [];
  const save = (files: readonly string[]): void => {
    saved = files;
  };
  let progress = new ReviewProgress(saved, save);
  const [session] = sessions("s1");
  assert.ok(session?.edits);
  const { edits } = session;
  const title = (count: number, runsStarted = 1): string =>
    progress.describe([{ ...session, runsStarted, edits: { ...edits, files: edits.files.slice(0, count) } }]);
  const all = edits.files.length;
  assert.deepEqual(
    [title(all), title(all - 1), title(all), title(0), title(1), title(0), title(0, 2), title(1, 2)],
    [`${all} files`, `${all - 1} of ${all} files left`, `${all} files`, "", `1 of ${all} files left`, "", "", "1 file"],
  );
  assert.equal(title(all, 2), `${all} files`);
  progress = new ReviewProgress(saved, save); // in the next window, whose first rows come before the restored sessions
  assert.deepEqual([title(0, 0), title(1, 0)], ["", `1 of ${all} files left`]);
});

test("the check of the accepted changes is the first row, and shows which change is missing", () => {
  const [session] = sessions("a");
  assert.ok(session?.edits);
  const { checked } = params<Edits>("edits.empty");
  assert.ok(checked);
  session.edits = { ...session.edits, checked };
  const [row] = childRows([session], undefined, relative);
  assert.ok(row?.kind === "check");
  assert.equal(row.label, "Fails without src/問候.py, line 4.");
  assert.equal(row.description, "3 of 7 accepted · pytest -q");
  assert.equal(row.tooltip, "3 of 7 changes accepted: pytest -q fails without src/問候.py, line 4.");
  assert.equal(parentRow(allRows([session], relative), row), undefined);
});

const problem = (line: number, message = "Wrong."): Diagnostic => ({
  range: { start: { line, character: 4 }, end: { line, character: 9 } },
  severity: 1,
  message,
  source: "ts",
});

test("a file's row counts the errors of its proposed text, and its tooltip has the first ones", () => {
  const [session] = sessions("a");
  assert.ok(session?.edits);
  const { edits } = session;
  const row = (...problems: Diagnostic[]): Extract<EditRow, { kind: "file" }> => {
    const files = edits.files.map((file) => ({ ...file, problems: file.kind === "create" ? problems : [] }));
    const found = rowOf(
      childRows([{ ...session, edits: { ...edits, files } }], undefined, relative),
      "docs/new file.md",
    );
    assert.ok(found?.kind === "file");
    return found;
  };
  assert.equal(row().description, "docs · new · +1 −0");
  assert.equal(row(problem(0), problem(4)).description, "docs · 2 errors · new · +1 −0");
  const many = Array.from({ length: 7 }, (_, line) => problem(line, `Wrong ${line}.\nIn detail.`));
  const above = row().tooltip;
  assert.deepEqual(
    row(...many)
      .tooltip.slice(above.length)
      .trim()
      .split("\n"),
    [
      "Line 1: Wrong 0.",
      "Line 2: Wrong 1.",
      "Line 3: Wrong 2.",
      "Line 4: Wrong 3.",
      "Line 5: Wrong 4.",
      "2 more in the Problems view.",
    ],
  );
});

test("the tooltip has the first line of an error, whatever its line endings are", () => {
  const problems = [problem(0, "Wrong.\r\nIn detail."), problem(1, "\nWrong too.\rIn detail."), problem(2, "")];
  assert.deepEqual(problemLines(problems), ["Line 1: Wrong.", "Line 2: Wrong too.", "Line 3: "]);
});

test("a change's row counts the errors in its own new lines", () => {
  const [session] = sessions("a");
  assert.ok(session?.edits);
  const { edits } = session;
  const problems = [problem(1), problem(4), problem(5)];
  const files = edits.files.map((file) => ({ ...file, problems }));
  const [changed] = [{ ...session, edits: { ...edits, files } }];
  const rows = childRows([changed], undefined, relative);
  const below = childRows([changed], rowOf(rows, "src/問候.py"), relative);
  assert.deepEqual(
    below.map((row) => `${label(row)}: ${row.description}`),
    ['Line 2: 1 error · +1 −1 · return "你好"', 'Line 6: 1 error · +1 −1 · return "👋 再見"'],
  );
});

test("changes that weaken tests have a row each in a group at the top, besides those below their files", () => {
  const [session] = sessions("a");
  const [file] = session?.edits?.files.filter(({ uri }) => relative(uri) === "src/問候.py") ?? [];
  const [first] = file?.hunks ?? [];
  assert.ok(session?.edits && file && first);
  const weakens = [{ prefix: "", template: "{0} is skipped.", arguments: ["test_a"] }];
  const weakened = { ...file, hunks: [{ ...first, weakens }, ...file.hunks.slice(1)] };
  const files = session.edits.files.map((other) => (other === file ? weakened : other));
  const store = new Store();
  store.startRun("a", "Task a");
  store.setEdits({ ...session.edits, files });
  const rows = allRows(store.reviewable, relative);
  const [group, row] = rows;
  assert.deepEqual([group?.kind, group?.description], ["weakened", "1 change · not in Accept All"]);
  assert.deepEqual([label(row), row?.description], ["問候.py: Line 2", "test_a is skipped."]);
  assert.equal(row && parentRow(rows, row), group);
  const below = rows.find((other) => other.kind === "hunk" && !other.isWeakened && other.hunk.id === first.id);
  assert.match(below?.description ?? "", /^weakens a test · /);
  assert.equal(below && label(parentRow(rows, below)), "src/問候.py");
  assert.equal(new Set(rows.map(rowId)).size, rows.length);
});
