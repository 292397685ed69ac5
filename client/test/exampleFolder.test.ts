// The example's folder, in which a recording replaces the model.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { EXAMPLE_MARK, isExampleFolder } from "../src/features/sessions/exampleFolder";

test("only a folder with the example's name and its mark is the example, so that the model answers in all others", () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-"));
  const folder = (name: string, ...files: string[]): string => {
    const made = path.join(home, name);
    fs.mkdirSync(made);
    for (const file of files) fs.writeFileSync(path.join(made, file), "");
    return made;
  };
  try {
    assert.ok(isExampleFolder(folder("fairlead-example-a1b2c3", EXAMPLE_MARK, "hello.py")));
    assert.ok(!isExampleFolder(folder("fairlead-example-of-mine", "hello.py")));
    assert.ok(!isExampleFolder(folder("mine", EXAMPLE_MARK)));
    assert.ok(!isExampleFolder(path.join(home, "fairlead-example-gone")));
  } finally {
    fs.rmSync(home, { recursive: true });
  }
});
