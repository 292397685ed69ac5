// Shows messages. VS Code turns `[words](address)` into a link, also into one that runs a command, and a message may contain
// what a model, its server, a repository or the name of a file says. So no message has links. ESLint forbids VS Code's own
// functions elsewhere.

import * as vscode from "vscode";
import { MessageType, type ShowMessageParams } from "vscode-languageclient/node";
import { messageText } from "./text";

type Show = typeof vscode.window.showInformationMessage;

const through = (show: (message: string, ...rest: never[]) => Thenable<unknown>): Show =>
  ((message: string, ...rest: never[]) => show(messageText(message), ...rest)) as Show;

// as the functions of VS Code with these names
export const showInformation = through((...given) => vscode.window.showInformationMessage(...given));
export const showWarning = through((...given) => vscode.window.showWarningMessage(...given));
export const showError = through((...given) => vscode.window.showErrorMessage(...given));

/** Shows what the server asks to show (`window/showMessage`). A log message is not shown. */
export function showFromServer({ type, message }: ShowMessageParams): void {
  if (type === MessageType.Error) void showError(message);
  else if (type === MessageType.Warning) void showWarning(message);
  else if (type === MessageType.Info) void showInformation(message);
}
