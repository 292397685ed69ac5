// Chooses the files that start VS Code's language support: opening a file starts the support for its language. Does not
// import VS Code, so that tests need no editor.

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
/** Dependencies and builds: for a file in them, TypeScript would load another project than that of the workspace. */
const NOT_SOURCES = "**/{.git,node_modules,.venv,venv,site-packages,vendor,target,dist,build,out}/**";

/**
 * Returns one source file of each common language that the workspace contains. `findOne` returns a file that matches
 * the first glob and not the second; none if there is no such file.
 */
export async function sourceFiles<File>(
  findOne: (include: string, exclude: string) => PromiseLike<readonly File[]>,
): Promise<File[]> {
  const found = await Promise.all(ENDINGS.map((endings) => findOne(`**/*.{${endings}}`, NOT_SOURCES)));
  return found.flat();
}
