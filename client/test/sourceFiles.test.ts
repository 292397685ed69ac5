import assert from "node:assert/strict";
import { test } from "node:test";
import { filesWithoutDependencies, sourceFiles } from "../src/context/sourceFiles";

const alternatives = (glob: string): string[] => /\{(.*)\}/.exec(glob)?.[1]?.split(",") ?? [];

/** The files that are chosen if the workspace contains these files and a search finds them in this order. */
async function chosenFrom(files: readonly string[]): Promise<string[]> {
  return sourceFiles((include, exclude) => {
    const isWanted = (file: string): boolean =>
      alternatives(include).some((ending) => file.endsWith(`.${ending}`)) &&
      !alternatives(exclude).some((folder) => file.split("/").includes(folder));
    return Promise.resolve(files.filter(isWanted).slice(0, 1));
  });
}

test("each language is started with a file of the workspace itself, not of its dependencies or builds", async () => {
  const others = ["node_modules/a/index.d.ts", "client/node_modules/b.js", "dist/main.js", ".venv/lib/c.py"];
  assert.deepEqual(await chosenFrom([...others, "src/main.ts", "src/other.ts", "tool.py"]), ["src/main.ts", "tool.py"]);
  assert.deepEqual(await chosenFrom(others), []);
});

/** Whether a file is in one of the folders that a glob names. */
const isIn = (file: string, glob: string): boolean =>
  file.split("/").some((part) => glob.split(/[{},/]/).includes(part));

test("the files of a large build do not displace the workspace's own, and are found if there is room", async () => {
  const built = Array.from({ length: 20 }, (_, index) => `build/${index}.js`);
  const all = [...built, "node_modules/a.js", "build/node_modules/b.js", "generated/c.ts", "src/main.ts", "z.ts"];
  const found = (limit: number): Promise<string[]> =>
    filesWithoutDependencies(
      (include, exclude, most) => {
        const isWanted = (file: string): boolean => (include === "**/*" || isIn(file, include)) && !isIn(file, exclude);
        return Promise.resolve(all.filter(isWanted).slice(0, most));
      },
      ["**/generated"],
      limit,
    );
  assert.deepEqual(await found(3), ["src/main.ts", "z.ts", "build/0.js"]);
  assert.deepEqual(await found(100), ["src/main.ts", "z.ts", ...built]);
});
