// The help page for a machine without a suitable Python.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { NEWEST, OLDEST, type Attempt } from "./python";
import { pythonHelp } from "./pythonHelp";
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
  text = pythonHelp(attempts);
  const uri = vscode.Uri.from({ scheme: SCHEME, path: "/Python for Fairlead.md", query: String(Date.now()) });
  await showPreview(uri);
  const { displayName } = context.extension.packageJSON as { displayName: string };
  void showError(
    t("{0} needs Python {1} to {2}.", displayName, OLDEST.join("."), NEWEST.join(".")),
    t("Try Again"),
    t("Choose Interpreter..."),
  ).then(async (chosen) => {
    if (chosen === t("Try Again")) await vscode.commands.executeCommand("fairlead.restartServer");
    if (chosen === t("Choose Interpreter...")) await chooseInterpreter();
  });
}

async function chooseInterpreter(): Promise<void> {
  const [file] =
    (await vscode.window.showOpenDialog({ title: t("Python interpreter"), openLabel: t("Use This Python") })) ?? [];
  if (file)
    await vscode.workspace
      .getConfiguration("fairlead")
      .update("python", file.fsPath, vscode.ConfigurationTarget.Global);
}
