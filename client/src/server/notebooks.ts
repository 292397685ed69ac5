// Files that are open as notebooks, whose text an edit of the file cannot change.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { allTabs } from "../ui/window";

/** Returns why a file that is open or opening as a notebook cannot be edited as text; undefined for any other file. */
export function notebookReason(uri: vscode.Uri): string | undefined {
  const opened = allTabs().map(({ input }) => (input instanceof vscode.TabInputNotebook ? input.uri : undefined));
  const notebooks = [...opened, ...vscode.workspace.notebookDocuments.map((other) => other.uri)];
  if (notebooks.every((other) => other?.toString() !== uri.toString())) return undefined;
  return t("{0} is open as a notebook. Close it, then try again.", uri.path.split("/").at(-1) ?? "");
}
