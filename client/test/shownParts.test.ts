import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsText, gitVersion, hasLinesOfFile, isWorkedOn, versionText } from "../src/context/shownParts";

const SESSION = "5bda328d487f";
const at = (scheme: string, { authority = "", path = "/ws/a.ts", query = "" } = {}) => ({
  scheme,
  authority,
  path,
  query,
});
const git = (ref: string) => at("git", { path: "/ws/a.ts.git", query: JSON.stringify({ path: "/ws/a.ts", ref }) });

test("the model reads which side of a diff of proposed changes a document is, and whether they are its own", () => {
  const [base, proposed] = [
    at("fairlead-base", { authority: SESSION }),
    at("fairlead-proposed", { authority: SESSION }),
  ];
  assert.equal(versionText(base, SESSION), "before the proposed changes");
  assert.equal(versionText(proposed, SESSION), "with the proposed changes");
  assert.equal(versionText({ ...proposed, query: "item=2" }, SESSION), "with some of the proposed changes");
  assert.equal(versionText(base, "another"), "before the proposed changes of another session");
  assert.equal(versionText(proposed, undefined), "with the proposed changes of another session");
});

test("the query of a Git document names the file and the version", () => {
  assert.deepEqual(gitVersion(git("HEAD")), { path: "/ws/a.ts", ref: "HEAD" });
  assert.equal(versionText(git("HEAD"), SESSION), "as in Git at HEAD");
  assert.equal(versionText(git("1a2b3c4"), SESSION), "as in Git at 1a2b3c4");
  for (const ref of ["", "~", "~2"]) assert.equal(versionText(git(ref), SESSION), "as in the Git index");
});

test("a Git document without a valid query, and an unknown document, are named by their scheme", () => {
  for (const query of ["", "{", "null", "[]", '{"path":5}'])
    assert.equal(versionText(at("git", { query }), SESSION), "as a document of the scheme git");
  assert.equal(versionText(at("gitlens"), SESSION), "as a document of the scheme gitlens");
  assert.equal(versionText(at("file"), SESSION), undefined);
});

test("only a file, and the session's own whole proposal, have the lines that the model reads", () => {
  const proposed = at("fairlead-proposed", { authority: SESSION });
  assert.ok(hasLinesOfFile(at("file"), SESSION));
  assert.ok(hasLinesOfFile(proposed, SESSION));
  for (const other of [{ ...proposed, query: "item=2" }, { ...proposed, scheme: "fairlead-base" }, git("HEAD")])
    assert.ok(!hasLinesOfFile(other, SESSION), other.scheme);
  for (const session of ["another", undefined]) assert.ok(!hasLinesOfFile(proposed, session));
});

test("a task is not about output or about the document in which it is written, but about any other document", () => {
  const isAbout = (scheme: string, languageId = "plaintext") => isWorkedOn({ uri: at(scheme), languageId });
  for (const scheme of ["file", "untitled", "git", "fairlead-base", "gitlens"]) assert.ok(isAbout(scheme), scheme);
  assert.ok(!isAbout("output", "Log") && !isAbout("untitled", "fairlead-task"));
});

test("cells are counted from 1", () => {
  assert.equal(cellsText({ start: 1, end: 2 }), "cell 2");
  assert.equal(cellsText({ start: 0, end: 3 }), "cells 1 to 3");
});
