// Terminals of the user in the sandbox: the files stay as they are, and what changed there is proposed at the end.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { method, type TerminalOutputParams } from "../../wire/protocol";
import { orShowWarning } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import { showInformation, terminal } from "../../ui/show";

const KIND = "xterm-256color";
/** Of a terminal whose panel is not visible yet. */
const USUAL_SIZE = { columns: 80, rows: 24 };

export class BoxTerminals {
  /** What shows the output of each open terminal, by session. */
  private readonly shown = new Map<string, (data: Uint8Array) => void>();

  constructor(private readonly server: AgentServer) {}

  /** Answers the server's request to show what a program wrote. */
  show({ sessionId, data }: TerminalOutputParams): Promise<null> {
    this.shown.get(sessionId)?.(Buffer.from(data, "base64"));
    return Promise.resolve(null);
  }

  /** Opens a terminal with the user's shell, in a session of its own. */
  async open(): Promise<void> {
    const created = await orShowWarning(() =>
      this.server.request(method.createSession, { title: t("Terminal in the sandbox") }),
    );
    if (!created) return;
    const { sessionId } = created;
    const written = new vscode.EventEmitter<string>();
    const closed = new vscode.EventEmitter<number>();
    const decoder = new TextDecoder();
    let typing = Promise.resolve();
    let isOpen = true;
    terminal(t("Sandbox"), {
      onDidWrite: written.event,
      onDidClose: closed.event,
      open: (size) => {
        const hint = t("In the sandbox: your files stay as they are. To review what you changed here, type exit.");
        written.fire(`\x1b[2m${hint}\x1b[0m\r\n`);
        this.shown.set(sessionId, (data) => {
          written.fire(decoder.decode(data, { stream: true }));
        });
        void this.run(sessionId, size ?? USUAL_SIZE).finally(() => {
          this.shown.delete(sessionId);
          if (isOpen) closed.fire(0);
        });
      },
      // what was written until now is proposed
      close: () => {
        isOpen = false;
        void orShowWarning(() => this.server.request(method.cancel, { sessionId }));
      },
      handleInput: (text) => {
        const data = Buffer.from(text).toString("base64");
        typing = typing.then(() => this.server.request(method.terminalInput, { sessionId, data })).then(ignore, ignore);
      },
      setDimensions: (size) => {
        void this.server.notify(method.terminalSize, { sessionId, columns: size.columns, rows: size.rows });
      },
    }).show();
  }

  /** Runs the shell until it ends, and shows what it changed. A session without changes is deleted. */
  private async run(sessionId: string, { columns, rows }: vscode.TerminalDimensions): Promise<void> {
    const argv = [vscode.env.shell];
    const ended = await orShowWarning(() =>
      this.server.request(method.runInTerminal, { sessionId, argv, terminal: { kind: KIND, columns, rows } }),
    );
    const opened = await orShowWarning(() => this.server.request(method.openSession, { sessionId }));
    if (opened?.edits.files.length === 0) {
      await orShowWarning(() => this.server.request(method.deleteSession, { sessionId }));
    } else if (opened) {
      await vscode.commands.executeCommand("fairlead.showSession", { sessionId });
      await vscode.commands.executeCommand("fairlead.edits.focus", { preserveFocus: true });
    }
    if (ended && ended.notes.length > 0) await showInformation(ended.notes.join(" "));
  }
}

const ignore = (): void => undefined;
