// Finds files of the workspace, without those of its dependencies. Does not import VS Code, so that tests need no
// editor.

/** The file name endings of common languages, one entry for each language. */
const ENDINGS = [
  "ts,tsx,mts,cts,js,jsx,mjs,cjs",
  "py,pyi",
  "rs",
  "go",
  "c,cc,cpp,cxx,h,hpp",
  "java",
  "cs",
  "php",
  "rb",
];
const DEPENDENCIES = ".git,node_modules,.venv,venv,site-packages,__pycache__";
const BUILDS = "vendor,target,dist,build,out";
const NOT_SOURCES = `**/{${DEPENDENCIES},${BUILDS}}/**`;

/**
 * Returns at most `limit` files of the workspace. Files in folders that usually contain builds come last, because there
 * can be very many. Leaves out dependencies and files that match a glob in `excluded`. `find` returns at most `limit`
 * files that match the first glob and not the second.
 */
export async function filesWithoutDependencies<File>(
  find: (include: string, exclude: string, limit: number) => PromiseLike<readonly File[]>,
  excluded: readonly string[],
  limit: number,
): Promise<File[]> {
  const anyOf = (glob: string): string => `{${[glob, ...excluded].join(",")}}`;
  const [own, builds] = await Promise.all([
    find("**/*", anyOf(NOT_SOURCES), limit),
    find(`**/{${BUILDS}}/**`, anyOf(`**/{${DEPENDENCIES}}/**`), limit),
  ]);
  return [...own, ...builds].slice(0, limit);
}

/**
 * Returns one source file of each common language that the workspace contains. Opening it starts VS Code's support for
 * its language. Leaves out dependencies and builds, because for their files TypeScript would load another project.
 * `findOne` returns a file that matches the first glob and not the second; none if there is no such file.
 */
export async function sourceFiles<File>(
  findOne: (include: string, exclude: string) => PromiseLike<readonly File[]>,
): Promise<File[]> {
  const found = await Promise.all(ENDINGS.map((endings) => findOne(`**/*.{${endings}}`, NOT_SOURCES)));
  return found.flat();
}
