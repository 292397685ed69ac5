// The context keys of the "when" clauses in package.json.

import * as vscode from "vscode";

/** Sets the context key `fairlead.NAME`. */
export function setContextKey(name: string, value: boolean): void {
  void vscode.commands.executeCommand("setContext", `fairlead.${name}`, value);
}
