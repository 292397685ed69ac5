import assert from "node:assert/strict";
import { test } from "node:test";
import { renameFiles } from "../src/context/gitDiffs";

/** As in a window whose only folder is `pkg/app` of the repository. */
const renamed = (diff: string): string =>
  renameFiles(
    diff,
    (path) => path.replace(/^pkg\/app\//, ""),
    (path) => path.startsWith("pkg/app/"),
  );

/** Asserts what becomes of a diff. A line that changes is a pair: before and after. */
function assertRenamed(...lines: readonly (string | readonly [string, string])[]): void {
  const text = (index: 0 | 1): string =>
    lines.map((line) => `${typeof line === "string" ? line : line[index]}\n`).join("");
  assert.equal(renamed(text(0)), text(1));
}

test("each file in a diff gets its new name, and the contents stay as they are", () => {
  assertRenamed(
    ["diff --git a/pkg/app/src/a.ts b/pkg/app/src/a.ts", "diff --git a/src/a.ts b/src/a.ts"],
    "index 1..2 100644",
    ["--- a/pkg/app/src/a.ts", "--- a/src/a.ts"],
    ["+++ b/pkg/app/src/a.ts", "+++ b/src/a.ts"],
    "@@ -1,3 +1,2 @@",
    "--- a/pkg/app/comment of SQL",
    "-a\rdiff --git a/pkg/app/x b/pkg/app/x",
    "+++ b/pkg/app/increment",
    " rename from pkg/app/x",
    ["diff --git a/pkg/app/b/b b/pkg/app/b/b", "diff --git a/b/b b/b/b"],
    "deleted file mode 100644",
    ["--- a/pkg/app/b/b", "--- a/b/b"],
    "+++ /dev/null",
    ["diff --git a/pkg/app/x.md b/pkg/app/y.md", "diff --git a/x.md b/y.md"],
    "similarity index 100%",
    ["rename from pkg/app/x.md", "rename from x.md"],
    ["rename to pkg/app/y.md", "rename to y.md"],
    ["diff --git a/pkg/app/1 and 2.png b/pkg/app/1 and 2.png", "diff --git a/1 and 2.png b/1 and 2.png"],
    [
      "Binary files a/pkg/app/1 and 2.png and b/pkg/app/1 and 2.png differ",
      "Binary files a/1 and 2.png and b/1 and 2.png differ",
    ],
    ["diff --git a/pkg/app/c.png b/pkg/app/c.png", "diff --git a/c.png b/c.png"],
    ["Binary files /dev/null and b/pkg/app/c.png differ", "Binary files /dev/null and b/c.png differ"],
    ["* Unmerged path pkg/app/both.txt", "* Unmerged path both.txt"],
    ["diff --cc pkg/app/both.txt", "diff --cc both.txt"],
    ["--- a/pkg/app/both.txt", "--- a/both.txt"],
    ["+++ b/pkg/app/both.txt", "+++ b/both.txt"],
    "@@@ -1,1 -1,1 +1,1 @@@",
    "--- a/pkg/app/comment of SQL",
  );
});

test("files that are not wanted are left out, but not one that was moved from there", () => {
  const wanted = "diff --git a/pkg/app/a b/pkg/app/a\n@@ -1 +1 @@\n-1\n+2\n";
  const other = "diff --git a/pkg/lib/a b/pkg/lib/a\n@@ -1 +1 @@\n-1\n+2\n* Unmerged path top.txt\n";
  assert.equal(renamed(other + wanted + other), wanted.replaceAll("pkg/app/", ""));
  assertRenamed(["diff --git a/pkg/lib/a b/pkg/app/a", "diff --git a/pkg/lib/a b/a"], "rename from pkg/lib/a", [
    "rename to pkg/app/a",
    "rename to a",
  ]);
});

test("names are read as the user's settings of Git write them, and written in plain letters", () => {
  // core.quotePath
  assertRenamed(
    ['diff --git "a/pkg/app/\\344\\275\\240.md" "b/pkg/app/\\344\\275\\240.md"', "diff --git a/你.md b/你.md"],
    ['--- "a/pkg/app/\\344\\275\\240.md"', "--- a/你.md"],
    ['+++ "b/pkg/app/\\344\\275\\240.md"', "+++ b/你.md"],
    [
      'diff --git "a/pkg/app/你 \\"\\\\\\t.md" "b/pkg/app/你 \\"\\\\\\t.md"',
      'diff --git "a/你 \\"\\\\\\t.md" "b/你 \\"\\\\\\t.md"',
    ],
  );
  // diff.mnemonicPrefix
  assertRenamed(
    ["diff --git i/pkg/app/a b w/pkg/app/a b", "diff --git a/a b b/a b"],
    ["--- i/pkg/app/a b\t", "--- a/a b"],
    ["+++ w/pkg/app/a b\t", "+++ b/a b"],
  );
  // diff.noPrefix
  assertRenamed(
    ["diff --git pkg/app/a b pkg/app/a b", "diff --git a/a b b/a b"],
    ["--- pkg/app/a b\t", "--- a/a b"],
    ["+++ pkg/app/a b\t", "+++ b/a b"],
  );
});

test("what is not a file's part of a diff stays", () => {
  for (const text of ["", "Submodule lib 12..34:\n  > Fix\n", "diff --git one two\n"])
    assert.equal(renamed(text), text);
});
