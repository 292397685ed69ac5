// The last command that the user ran in each terminal, with its output, as VS Code's shell integration reports it.

import * as vscode from "vscode";
import { setContextKey } from "../ui/contextKeys";
import type { TerminalItem } from "../wire/protocol";

/** How much of the end of an output is kept, in characters. The server attaches less. */
const MAX_OUTPUT = 50_000;

interface Command {
  command: string;
  output: string;
  /** Undefined while it runs, and if the shell does not say. */
  exitCode: number | undefined;
}

const lastIn = new WeakMap<vscode.Terminal, Command>();
/** The last command in any terminal. */
let last: Command | undefined;

/** Remembers the commands in the terminals until the result is disposed. */
export function watchTerminals(): vscode.Disposable {
  const running = new WeakMap<vscode.TerminalShellExecution, Command>();
  const update = (): void => {
    setContextKey("terminalFailed", failedCommand() !== undefined);
  };
  return vscode.Disposable.from(
    vscode.window.onDidStartTerminalShellExecution(({ terminal, execution }) => {
      last = { command: execution.commandLine.value, output: "", exitCode: undefined };
      lastIn.set(terminal, last);
      running.set(execution, last);
      update();
      void collect(execution, last);
    }),
    vscode.window.onDidEndTerminalShellExecution(({ execution, exitCode }) => {
      const command = running.get(execution);
      // the shell may report the command line only at the end
      if (command) Object.assign(command, { command: execution.commandLine.value, exitCode });
      update();
    }),
    vscode.window.onDidChangeActiveTerminal(update),
  );
}

async function collect(execution: vscode.TerminalShellExecution, command: Command): Promise<void> {
  for await (const data of execution.read()) command.output = (command.output + data).slice(-MAX_OUTPUT);
}

/** Returns the last command of the active terminal or, if that has none, of any terminal. */
export function lastCommand(): TerminalItem | undefined {
  const { activeTerminal } = vscode.window;
  const command = (activeTerminal && lastIn.get(activeTerminal)) ?? last;
  return command && itemOf(command);
}

/** Returns the last command of the active terminal if it failed. */
export function failedCommand(): TerminalItem | undefined {
  const { activeTerminal } = vscode.window;
  const command = activeTerminal && lastIn.get(activeTerminal);
  return command?.exitCode ? itemOf(command) : undefined;
}

const itemOf = ({ command, output, exitCode }: Command): TerminalItem => ({
  kind: "terminal",
  command,
  output,
  ...(exitCode !== undefined && { exitCode }),
});
