// A VS Code for tests, opened on its own workspace.
import fs from "node:fs";
import path from "node:path";
import { atEnd, test } from "./registry.mjs";
import { openPage } from "./page.mjs";
import { startVSCode } from "../../../scripts/vscode/vscode.mjs";

// Settings with which VS Code does not change typed text, and nothing moves without a cause.
const STILL = {
  "diffEditor.renderSideBySide": true,
  "diffEditor.useInlineViewWhenSpaceIsLimited": false,
  "editor.accessibilitySupport": "off",
  "editor.autoClosingBrackets": "never",
  "editor.autoClosingQuotes": "never",
  "editor.autoIndent": "none",
  "editor.cursorBlinking": "solid",
  "editor.minimap.enabled": false,
  "editor.quickSuggestions": { other: "off", comments: "off", strings: "off" },
  "editor.suggestOnTriggerCharacters": false,
  "terminal.integrated.gpuAcceleration": "off",
  "workbench.hover.delay": 0,
  "workbench.reduceMotion": "on",
};

/**
 * Starts VS Code on a copy of a workspace, opens it in a browser and returns `{ code, page, workspace, close() }`.
 *
 * workspace  a folder to copy, or the files as `{ 'path/in/it': text or bytes }`; null for an empty window. If one of
 *            the files is a .code-workspace, opens that file
 * name       the name of the folder for the artifacts of a failure
 * viewport, theme, scale, fonts, language  as in `openPage`; everything else as in `startVSCode`
 *
 * `close()` ends VS Code and the server, and fails if it had to kill a process.
 */
export async function openEditor({
  workspace = {},
  name,
  viewport,
  theme,
  scale,
  fonts,
  language,
  settings,
  env,
  ...rest
} = {}) {
  let code;
  let page;
  const close = async () => {
    await page?.close().catch(() => {});
    const left = (await code?.stop()) ?? [];
    if (left.length === 0) return;
    const names = left.map((each) => `  ${each.pid} ${each.command}`);
    throw new Error([`Left running after VS Code had ended (${path.basename(process.argv[1])}):`, ...names].join("\n"));
  };
  try {
    code = await startVSCode({
      ...rest,
      workspace: workspace ? (scratch) => copy(workspace, scratch) : undefined,
      settings: { ...STILL, ...settings },
      // without the user's key, because a test must never spend the user's money
      env: { ANTHROPIC_API_KEY: undefined, ...env },
    });
    page = await openPage(code.url, { name, viewport, theme, scale, fonts, language, logs: code.logs });
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
  return { code, page, workspace: code.workspace, close };
}

function copy(source, scratch) {
  if (typeof source === "string") {
    const folder = path.join(scratch, path.basename(source));
    fs.cpSync(source, folder, { recursive: true });
    return folder;
  }
  const folder = path.join(scratch, "workspace");
  fs.mkdirSync(folder);
  writeFiles(folder, source);
  const file = Object.keys(source).find((name) => name.endsWith(".code-workspace"));
  return file === undefined ? folder : path.join(folder, file);
}

export function writeFiles(folder, files) {
  for (const [file, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    fs.writeFileSync(path.join(folder, file), content);
  }
}

/**
 * For a test file: `const editorTest = useEditor(() => openEditor(options))`, then
 * `editorTest('what is guaranteed', async ({ page, workspace, code }, context) => ...)`.
 * The tests of the file run in order in one VS Code. A failed test saves a picture and the logs.
 */
export function useEditor(open) {
  let started;
  atEnd(async () => (await started?.catch(() => undefined))?.close());
  return (title, body) =>
    test(title, async (context) => {
      started ??= open();
      const editor = await started;
      editor.page.nameFailures(title);
      try {
        await body(editor, context);
      } catch (error) {
        if (!error.artifacts) error.stack += `\nSaved in ${await editor.page.saveArtifacts(error.message)}`;
        throw error;
      }
    });
}
