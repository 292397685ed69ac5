// What the tests of the extension share: a model that plays a script, and the server's process seen from outside.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { openEditor, useEditor } from "./host/editor.mjs";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Writes the model's turns as a recording (docs/replay.md) and returns its path. */
export function recording(...turns) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "fairlead-script-"));
  const file = path.join(folder, "script.replay.yaml");
  fs.writeFileSync(file, JSON.stringify({ replay: 1, turns }));
  process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
  return file;
}

/** The tests of a file share one VS Code with the extension of this checkout, whose model plays the turns. */
export function useAgent(turns, { settings, ...options } = {}) {
  return useEditor(withExtension({ settings: { "fairlead.replay": recording(...turns), ...settings }, ...options }));
}

export const openAgent = (options) => openEditor(withExtension(options));

// A key of the person who runs the tests is never used.
const withExtension = (options) => ({ extensions: [ROOT], env: { ANTHROPIC_AUTH_TOKEN: undefined, ANTHROPIC_BASE_URL: undefined }, ...options });

/** A call of the tool `todo`: items as `[content, status, activeForm]`. */
export const plan = (...items) => ({ todo: { items: items.map(([content, status = "pending", activeForm = ""]) => ({ content, status, activeForm })) } });
export const edit = (file, old_text, new_text) => ({ edit_file: { path: file, old_text, new_text } });
export const write = (file, content) => ({ write_file: { path: file, content } });
export const remove = (file) => ({ delete_file: { path: file } });
export const rename = (file, new_path) => ({ rename_file: { path: file, new_path } });
export const bash = (command) => ({ bash: { command } });

/** Runs a task from the palette, as a person does. */
export async function runTask(page, prompt) {
  await page.runCommand("Agent: Run Task");
  await page.fillInput(prompt, { title: "Agent: Run Task" });
}

/** Goes on in the same session, from the palette. */
export async function followUp(page, prompt) {
  await page.runCommand("Agent: Follow Up");
  await page.fillInput(prompt);
}

/** Waits until the conversation's page says all of this; returns its text. */
export function conversationSays(page, parts) {
  return page.until(`the conversation with ${parts.join(", ")}`, async () => {
    const text = await page.webview().locator("body").innerText();
    const missing = parts.filter((part) => !text.includes(part));
    if (missing.length > 0) throw new Error(`not there: ${missing.join(", ")}`);
    return text;
  });
}

/** Takes a picture for a person to look at, where FAIRLEAD_EDITOR_PICTURES names a folder for them. */
export async function picture(page, name) {
  const folder = process.env.FAIRLEAD_EDITOR_PICTURES;
  if (folder) await page.screenshot(path.join(folder, `${name}.png`));
}

/** The process ids of the agent's servers that belong to one VS Code (Linux: told by its home folder). */
export function serverPids(code) {
  return fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
    try {
      const command = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return command.includes("fairlead") && command.includes("serve") && fs.readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`HOME=${code.home}`);
    } catch {
      return false;
    }
  });
}
