// The output of each command as a terminal: opened at the person's wish only, live while the command runs.

import * as vscode from "vscode";
import { CommandOutput } from "./commandOutput";
import type { CommandNode, RunningNode } from "../plan/planNodes";
import { method, type AgentEvent } from "../protocol";
import { orShowWarning } from "../server/errors";
import type { AgentServer } from "../server/server";
import type { Store } from "../state";

/** Commands of which the output is kept; of the oldest it goes. */
const MAX_COMMANDS = 100;

interface CommandTerminal {
  readonly output: CommandOutput;
  terminal?: vscode.Terminal;
  /** Set while its terminal is open. */
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

  /** Opens a command's output, or shows it again. */
  show({ sessionId, callId }: CommandNode | RunningNode): void {
    const found = this.commands.get(commandKey(sessionId, callId));
    if (!found) {
      void vscode.window.showInformationMessage(
        "The output of this command is no longer there. The conversation has what the agent read of it.",
      );
      return;
    }
    found.terminal ??= this.open(found);
    found.terminal.show();
  }

  /** Ends a background command. */
  async stop({ sessionId, handle }: RunningNode): Promise<void> {
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

  private open(kept: CommandTerminal): vscode.Terminal {
    const written = new vscode.EventEmitter<string>();
    const pty: vscode.Pseudoterminal = {
      onDidWrite: written.event,
      // what is written before that is lost
      open: () => {
        written.fire(kept.output.text);
        kept.write = (text) => {
          written.fire(text);
        };
      },
      close: () => {
        delete kept.write;
        delete kept.terminal;
        written.dispose();
      },
    };
    return vscode.window.createTerminal({ name: kept.output.name, pty, isTransient: true });
  }
}

const commandKey = (sessionId: string, callId: string): string => `${sessionId} ${callId}`;
