import assert from "node:assert/strict";
import { test } from "node:test";
import { prefixPaths } from "../src/context/gitDiffs";

const DIFF = `diff --git a/src/a.ts b/src/a.ts
index 1..2 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -1 +1 @@
-old a/src
+new b/src
diff --git "a/\\344.md" "b/\\344.md"
similarity index 100%
rename from b/x.md
rename to y.md
diff --git a/gone b/gone
--- a/gone
+++ /dev/null
diff --cc both.txt
`;

test("in a diff of several repositories, each path begins with its folder", () => {
  assert.equal(
    prefixPaths("my $1 app", DIFF),
    DIFF.replace("a/src/a.ts b/src/a.ts", "a/my $$1 app/src/a.ts b/my $$1 app/src/a.ts")
      .replace("--- a/src", "--- a/my $$1 app/src")
      .replace("+++ b/src", "+++ b/my $$1 app/src")
      .replace('"a/\\344.md" "b/', '"a/my $$1 app/\\344.md" "b/my $$1 app/')
      .replace("from b/x", "from my $$1 app/b/x")
      .replace("to y", "to my $$1 app/y")
      .replace("a/gone b/gone", "a/my $$1 app/gone b/my $$1 app/gone")
      .replace("--- a/gone", "--- a/my $$1 app/gone")
      .replace("--cc both", "--cc my $$1 app/both"),
  );
});
