// `npm start`: opens a VS Code with the extension on a copy of the example workspace.
//
// It is the installed `code`; without one, or with --browser, a VS Code in the browser at a loopback address. The model is
// the real one if the environment has a key or a base URL; otherwise a recording replaces it. The copy is deleted when that
// VS Code is closed.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { root, run, runHere, windows } from "./process.mjs";
import { during, say } from "./progress.mjs";
import { ensureNode, ensurePython, main, together } from "./setup.mjs";

const example = path.join(root, "server/fairlead/example");
const TASK = "Refactor hello.py: add type hints, docstrings, and a main guard";

await main(async () => {
  await together(ensurePython(), ensureNode());
  const built = await during("bundle the extension", () =>
    run(process.execPath, [path.join(root, "scripts/build.mjs")]),
  );
  if (built.code !== 0) {
    say(built.output);
    return 1;
  }
  const real = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"].some((name) => process.env[name]);
  const settings = real ? {} : { "fairlead.replay": path.join(example, "refactor.replay.yaml") };
  const desktop = !process.argv.includes("--browser") && (await hasDesktop());
  const open = desktop ? openDesktop : openInBrowser;
  return open(settings, () => {
    say();
    say(
      real
        ? "The agent uses the real model."
        : "No key is set: a recorded conversation replaces the model, whatever you ask.",
    );
    say(`In VS Code press F1, choose "Agent: Run Task", and type: ${TASK}`);
    say("Then watch the Plan, open the diffs under Proposed Changes, and accept or reject.");
    if (!real) say("To use a real model: ANTHROPIC_API_KEY=... npm start");
  });
});

async function hasDesktop() {
  const { code } = await run("code", ["--version"], { shell: windows }).catch(() => ({ code: 1 }));
  return code === 0;
}

/** Copies the example into a folder; returns the copy. */
function copyExample(folder) {
  const workspace = path.join(folder, "workspace");
  fs.cpSync(path.join(example, "workspace"), workspace, { recursive: true });
  return workspace;
}

async function openDesktop(settings, explain) {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-start-"));
  const data = path.join(scratch, "user");
  fs.mkdirSync(path.join(data, "User"), { recursive: true });
  fs.writeFileSync(
    path.join(data, "User", "settings.json"),
    JSON.stringify({ ...settings, "security.workspace.trust.enabled": false }),
  );
  explain();
  const args = [
    "--new-window",
    "--wait",
    "--user-data-dir",
    data,
    "--extensions-dir",
    path.join(scratch, "extensions"),
    `--extensionDevelopmentPath=${root}`,
    copyExample(scratch),
  ];
  const code = await runHere("code", args, process.env, { shell: windows });
  if (code === 0) {
    fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 10 });
  } else {
    say(`VS Code may still be open. Close it, then delete ${scratch}.`);
  }
  return code;
}

async function openInBrowser(settings, explain) {
  const { startVSCode } = await import("./vscode/vscode.mjs");
  const { showToUser } = await import("./vscode/browser.mjs");
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("ANTHROPIC_")));
  const code = await startVSCode({ workspace: copyExample, extensions: [root], settings, env });
  explain();
  say();
  say(`VS Code is open at ${code.url}`);
  say("Press Ctrl+C to close it.");
  await showToUser(code.url);
  await new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, resolve);
  });
  await code.stop();
  return 0;
}
