// The output of commands in terminals. A terminal opens only when the user asks for it, and follows the command while
// it runs.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { CommandOutput } from "./commandOutput";
import type { CommandNode, RunningNode } from "./planNodes";
import { method, type AgentEvent } from "../../wire/protocol";
import { orShowWarning } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import type { Store } from "../../state/store";
import { showInformation, terminal } from "../../ui/show";

/**
 * The maximum number of commands whose output is saved. The oldest ones are removed, even if they are still running.
 * Those with an open terminal stay, so there can be more.
 */
const MAX_COMMANDS = 100;

interface CommandTerminal {
  readonly output: CommandOutput;
  terminal?: vscode.Terminal;
  /** Set while the terminal is open. */
  write?: (text: string) => void;
}

export class Terminals implements vscode.Disposable {
  private readonly commands = new Map<string, CommandTerminal>();
  private readonly unsubscribe: () => void;

  constructor(
    store: Store,
    private readonly server: AgentServer,
  ) {
    this.unsubscribe = store.onEvent((event) => {
      this.onEvent(event);
    });
  }

  /** Opens the terminal of a command or brings it to the front. Shows a message if the output is not saved anymore. */
  show({ sessionId, callId }: Pick<CommandNode | RunningNode, "sessionId" | "callId">): void {
    const found = this.commands.get(commandKey(sessionId, callId));
    if (!found) {
      void showInformation(
        t(
          "The output of this command is no longer available. If the agent ran it, the conversation shows what the agent read.",
        ),
      );
      return;
    }
    found.terminal ??= this.open(found);
    found.terminal.show();
  }

  /** Stops a background command, or a check. */
  async stop({ sessionId, handle }: RunningNode): Promise<void> {
    if (handle === null) return;
    await orShowWarning(() => this.server.request(method.stopCommand, { sessionId, handle }));
  }

  dispose(): void {
    this.unsubscribe();
    for (const { terminal } of this.commands.values()) terminal?.dispose();
  }

  private onEvent(event: AgentEvent): void {
    if (event.kind === "command") {
      this.commands.set(commandKey(event.sessionId, event.toolCallId), { output: new CommandOutput(event) });
      for (const [oldest, { terminal }] of this.commands) {
        if (this.commands.size <= MAX_COMMANDS) break;
        if (!terminal) this.commands.delete(oldest);
      }
    } else if (event.kind === "tool_output" || event.kind === "command_ended") {
      const found = this.commands.get(commandKey(event.sessionId, event.toolCallId));
      const text = event.kind === "tool_output" ? found?.output.add(event.text) : found?.output.end(event);
      if (text !== undefined) found?.write?.(text);
    }
  }

  private open(command: CommandTerminal): vscode.Terminal {
    const written = new vscode.EventEmitter<string>();
    const pty: vscode.Pseudoterminal = {
      onDidWrite: written.event,
      // text written before the terminal is open is lost
      open: () => {
        written.fire(command.output.text);
        command.write = (text) => {
          written.fire(text);
        };
      },
      close: () => {
        delete command.write;
        delete command.terminal;
        written.dispose();
      },
    };
    return terminal(command.output.name, pty);
  }
}

const commandKey = (sessionId: string, callId: string): string => `${sessionId} ${callId}`;
