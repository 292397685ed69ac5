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
const TASK = "Refactor hello.py: add type hints, docstrings, and a main guard";

await main(async () => {
  await waitForAll(ensurePython(), ensureNode());
  await withProgress("bundle the extension", () =>
    runOrThrow(process.execPath, [path.join(root, "scripts/build.mjs")]),
  );
  const hasModel = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"].some(
    (name) => process.env[name],
  );
  const settings = hasModel ? {} : { "fairlead.replay": path.join(example, "refactor.replay.yaml") };
  const useDesktop = !process.argv.includes("--browser") && (await hasCodeCommand());
  const open = useDesktop ? openOnDesktop : openInBrowser;
  return open(settings, () => {
    say();
    say(
      hasModel
        ? "The agent uses the real model."
        : "No key is set, so the agent replays the same recorded conversation for every task.",
    );
    say(`In VS Code press F1, choose "Agent: Run Task", and type: ${TASK}`);
    say("Then watch the Plan, open the diffs under Proposed Changes, and accept or reject them.");
    if (!hasModel) say("To use a real model: ANTHROPIC_API_KEY=... npm start");
  });
});

async function hasCodeCommand() {
  const { code } = await run("code", ["--version"], { shell: isWindows });
  return code === 0;
}

/** Copies the example workspace into a folder and returns the path of the copy. */
function copyExample(folder) {
  const workspace = path.join(folder, "workspace");
  fs.cpSync(path.join(example, "workspace"), workspace, { recursive: true });
  return workspace;
}

async function openOnDesktop(settings, printInstructions) {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-start-"));
  const userData = path.join(scratch, "user");
  fs.mkdirSync(path.join(userData, "User"), { recursive: true });
  fs.writeFileSync(
    path.join(userData, "User", "settings.json"),
    JSON.stringify({ ...settings, "security.workspace.trust.enabled": false }),
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
    copyExample(scratch),
  ];
  const code = await runInTerminal("code", args, process.env, { shell: isWindows });
  if (code === 0) {
    removeFolder(scratch);
  } else {
    say(`VS Code may still be open. Close it, then delete ${scratch}.`);
  }
  return code;
}

async function openInBrowser(settings, printInstructions) {
  const { startVSCode } = await import("./vscode/vscode.mjs");
  const { showToUser } = await import("./vscode/browser.mjs");
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("ANTHROPIC_")));
  const vscode = await startVSCode({ workspace: copyExample, extensions: [root], settings, env });
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
