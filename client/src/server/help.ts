// The help pages for what the server's set-up needs: a suitable Python, and its packages.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { NotInstalled } from "./environment";
import { packagesHelp, pythonHelp } from "./helpTexts";
import { NEWEST, OLDEST, type Attempt } from "./python";
import { showPreview } from "../ui/markdownPages";
import { showError } from "../ui/show";

const SCHEME = "fairlead-help";
let text = "";

export function registerHelp(): vscode.Disposable {
  return vscode.workspace.registerTextDocumentContentProvider(SCHEME, { provideTextDocumentContent: () => text });
}

/**
 * Shows a page about which Pythons were tried and how to install one. A message offers to try again or to choose an
 * interpreter; this function does not wait for the user's choice.
 */
export async function showPythonHelp(context: vscode.ExtensionContext, attempts: readonly Attempt[]): Promise<void> {
  await showPage("Python for Fairlead", pythonHelp(attempts));
  const { displayName } = context.extension.packageJSON as { displayName: string };
  const message = t("{0} needs Python {1} to {2}.", displayName, OLDEST.join("."), NEWEST.join("."));
  void offer(message, t("Choose Interpreter..."), async () => {
    const texts = { title: t("Python interpreter"), openLabel: t("Use This Python") };
    await choosePath("python", texts);
  });
}

/**
 * Shows a page about why the server's packages could not be installed, and what helps. A message offers to try again, to
 * choose a folder with the packages, or to read the log; this function does not wait for the user's choice.
 * `requirements` is the path of the file that lists the packages.
 */
export async function showPackagesHelp(error: NotInstalled, requirements: string): Promise<void> {
  await showPage("Packages for Fairlead", packagesHelp(error, requirements));
  void offer(error.message, t("Choose Wheels..."), async () => {
    const texts = { title: t("Folder with the wheels of the server's packages"), openLabel: t("Use This Folder") };
    const folder = { ...texts, canSelectFiles: false, canSelectFolders: true };
    if (await choosePath("wheels", folder)) await tryAgain();
  });
}

async function showPage(title: string, content: string): Promise<void> {
  text = content;
  await showPreview(vscode.Uri.from({ scheme: SCHEME, path: `/${title}.md`, query: String(Date.now()) }));
}

/** Shows an error with buttons to try again, for what else helps, and for the log. */
async function offer(message: string, help: string, onHelp: () => Promise<void>): Promise<void> {
  const chosen = await showError(message, t("Try Again"), help, t("Show Log"));
  if (chosen === t("Try Again")) await tryAgain();
  if (chosen === help) await onHelp();
  if (chosen === t("Show Log")) await vscode.commands.executeCommand("fairlead.showLog");
}

const tryAgain = (): Thenable<unknown> => vscode.commands.executeCommand("fairlead.restartServer");

/** Lets the user choose the path in a setting of Fairlead. Returns whether one was chosen. */
async function choosePath(setting: string, options: vscode.OpenDialogOptions): Promise<boolean> {
  const [chosen] = (await vscode.window.showOpenDialog(options)) ?? [];
  if (!chosen) return false;
  const settings = vscode.workspace.getConfiguration("fairlead");
  await settings.update(setting, chosen.fsPath, vscode.ConfigurationTarget.Global);
  return true;
}
