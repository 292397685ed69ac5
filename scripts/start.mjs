// `npm start`: opens a VS Code with the extension on a copy of the example workspace.
//
// Uses the installed `code`. If there is none, or with --browser, opens VS Code in a browser at a loopback address. If
// the environment has a key or a base URL, the agent uses the real model, otherwise a recording. The copy is deleted
// when VS Code is closed or, in a browser, when you press Ctrl+C.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { isWindows, root, run, runInTerminal } from "./process.mjs";
import { say, withProgress } from "./progress.mjs";
import { removeFolder } from "./remove-folder.mjs";
import { ensureNode, ensurePython, main, runOrThrow, waitForAll } from "./setup.mjs";

const example = path.join(root, "server/fairlead/example");
// as in client/src/features/sessions/exampleFolder.ts: a window recognizes the example by them, offers its task, and plays
// its recording
const PREFIX = "fairlead-example-";
const MARK = ".fairlead-example";

await main(async () => {
  await waitForAll(ensurePython(), ensureNode());
  await withProgress("bundle the extension", () =>
    runOrThrow(process.execPath, [path.join(root, "scripts/build.mjs")]),
  );
  const hasModel = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"].some(
    (name) => process.env[name],
  );
  const copy = (folder) => copyExample(path.join(folder, hasModel ? "workspace" : `${PREFIX}start`), !hasModel);
  const useDesktop = !process.argv.includes("--browser") && (await hasCodeCommand());
  const open = useDesktop ? openOnDesktop : openInBrowser;
  return open(copy, () => {
    say();
    say(
      hasModel
        ? "The agent uses the real model."
        : "No key is set, so the agent replays the same recorded conversation for every task.",
    );
    if (hasModel) {
      say('In VS Code press F1, choose "Agent: Run Task", and type a task, such as: Add type hints to hello.py');
    } else {
      say("In VS Code, the box for a task has one already: press Enter.");
    }
    say("Then watch the Plan, open the diffs under Proposed Changes, and accept or reject them.");
    if (!hasModel) say("To use a real model: ANTHROPIC_API_KEY=... npm start");
  });
});

async function hasCodeCommand() {
  const { code } = await run("code", ["--version"], { shell: isWindows });
  return code === 0;
}

/** Copies the example workspace to a new folder and returns its path. `isMarked`: a window recognizes it as the example. */
function copyExample(folder, isMarked) {
  fs.cpSync(path.join(example, "workspace"), folder, { recursive: true });
  if (isMarked) fs.writeFileSync(path.join(folder, MARK), "");
  return folder;
}

async function openOnDesktop(copy, printInstructions) {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-start-"));
  const userData = path.join(scratch, "user");
  fs.mkdirSync(path.join(userData, "User"), { recursive: true });
  fs.writeFileSync(
    path.join(userData, "User", "settings.json"),
    JSON.stringify({ "security.workspace.trust.enabled": false }),
  );
  printInstructions();
  const args = [
    "--new-window",
    "--wait",
    "--user-data-dir",
    userData,
    "--extensions-dir",
    path.join(scratch, "extensions"),
    `--extensionDevelopmentPath=${root}`,
    copy(scratch),
  ];
  const code = await runInTerminal("code", args, process.env, { shell: isWindows });
  if (code === 0) {
    removeFolder(scratch);
  } else {
    say(`VS Code may still be open. Close it, then delete ${scratch}.`);
  }
  return code;
}

async function openInBrowser(copy, printInstructions) {
  const { startVSCode } = await import("./vscode/vscode.mjs");
  const { showToUser } = await import("./vscode/browser.mjs");
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("ANTHROPIC_")));
  const vscode = await startVSCode({ workspace: copy, extensions: [root], env });
  printInstructions();
  say();
  say(`VS Code is open at ${vscode.url}`);
  say("Press Ctrl+C to close it.");
  await showToUser(vscode.url);
  await new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, resolve);
  });
  await vscode.stop();
  return 0;
}
