// The example: a small project in its own folder, in which a recording replaces the model. It needs no key.

import * as fs from "node:fs/promises";
import { existsSync } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { EXAMPLE_MARK, EXAMPLE_PREFIX, isExampleFolder } from "./exampleFolder";
import type { Prompts } from "./prompt";

const TASK = "Refactor hello.py: add type hints, docstrings, and a main guard";
const MARK_TEXT =
  "In this folder, Fairlead plays a recorded task instead of asking a model. You can delete the folder at any time.\n";
const OFFERED = "fairlead.exampleOffered";

/** The path of the recording that replaces the model; undefined if the window does not show the example. */
export function exampleRecording(extensionPath: string): string | undefined {
  return exampleFolder() === undefined ? undefined : path.join(exampleSource(extensionPath), "refactor.replay.yaml");
}

/** Copies the example to a new folder and opens it, in another window if this one has a folder. */
export async function openExample(extensionPath: string): Promise<void> {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), EXAMPLE_PREFIX));
  await fs.cp(path.join(exampleSource(extensionPath), "workspace"), folder, { recursive: true });
  await fs.writeFile(path.join(folder, EXAMPLE_MARK), MARK_TEXT);
  const forceNewWindow = (vscode.workspace.workspaceFolders?.length ?? 0) > 0;
  await vscode.commands.executeCommand("vscode.openFolder", vscode.Uri.file(folder), { forceNewWindow });
}

/** Ends the recording that replaces the model: the example's, and that of the user's settings. */
export async function endRecording(): Promise<void> {
  const folder = exampleFolder();
  if (folder) await fs.rm(path.join(folder.fsPath, EXAMPLE_MARK), { force: true });
  const settings = vscode.workspace.getConfiguration("fairlead");
  if (settings.get("replay") !== "") await settings.update("replay", undefined, vscode.ConfigurationTarget.Global);
}

/**
 * Offers the example's task, if the window shows the example and the user trusts it: opens the file and the box for a
 * task. Records this in `memory`, the state of the workspace, so that it happens only once.
 */
export async function offerExample(memory: vscode.Memento, prompts: Prompts): Promise<void> {
  const folder = exampleFolder();
  if (folder === undefined || !vscode.workspace.isTrusted || memory.get(OFFERED) === true) return;
  await memory.update(OFFERED, true);
  await vscode.window.showTextDocument(vscode.Uri.joinPath(folder, "hello.py"));
  prompts.setDraft(TASK);
  await vscode.commands.executeCommand("fairlead.runTask");
}

/** The example's folder; undefined if the window shows anything else. */
function exampleFolder(): vscode.Uri | undefined {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const [uri] = folders.map((folder) => folder.uri);
  return folders.length === 1 && uri && isExampleFolder(uri.fsPath) ? uri : undefined;
}

/** The folder with the files of the example, in the packaged extension or in a checkout. */
function exampleSource(extensionPath: string): string {
  const packaged = path.join(extensionPath, "example");
  return existsSync(packaged) ? packaged : path.join(extensionPath, "server", "fairlead", "example");
}
