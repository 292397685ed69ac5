import assert from "node:assert/strict";
import { test } from "node:test";
import { sourceFiles } from "../src/code/sourceFiles";

const alternatives = (glob: string): string[] => /\{(.*)\}/.exec(glob)?.[1]?.split(",") ?? [];

/** The files that are chosen if the workspace contains these, found in this order. */
async function chosenFrom(files: readonly string[]): Promise<string[]> {
  return sourceFiles((include, exclude) => {
    const isWanted = (file: string): boolean =>
      alternatives(include).some((ending) => file.endsWith(`.${ending}`)) &&
      !alternatives(exclude).some((folder) => file.split("/").includes(folder));
    return Promise.resolve(files.filter(isWanted).slice(0, 1));
  });
}

test("a language is started with a file of the workspace's own, not of a dependency or a build", async () => {
  const others = ["node_modules/a/index.d.ts", "client/node_modules/b.js", "dist/main.js", ".venv/lib/c.py"];
  assert.deepEqual(await chosenFrom([...others, "src/main.ts", "src/other.ts", "tool.py"]), ["src/main.ts", "tool.py"]);
  assert.deepEqual(await chosenFrom(others), []);
});
