// What a person does with sessions: show another one, go on with one, say something to one that runs, delete one.

import * as vscode from "vscode";
import { plural } from "../ui/format";
import { method, type OpenedSession } from "../protocol";
import type { Runs } from "./runs";
import { orShowWarning } from "../server/errors";
import type { AgentServer } from "../server/server";
import { sessionNodes, type SessionNode } from "./sessionRows";
import type { Session } from "../session";
import type { Store } from "../state";

const STATUS_MESSAGE_MS = 5000;

export class Sessions implements vscode.Disposable {
  /** The sessions whose conversation was asked for, and when it is here. */
  private readonly transcripts = new Map<string, Promise<void>>();
  private readonly unsubscribe: () => void;

  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    private readonly runs: Runs,
  ) {
    this.unsubscribe = store.onChange((change, session) => {
      if (session === store.active) this.loadTranscript(session, change === "sessions");
    });
  }

  dispose(): void {
    this.unsubscribe();
  }

  /** The plan, the proposals and the conversation are those of this session from now on; runs of others go on. */
  show(sessionId: string): void {
    this.store.show(sessionId);
  }

  /** A further task in a session, the one of the row or one that the person picks. */
  async continueSession(node?: Partial<SessionNode>): Promise<void> {
    const session = node?.sessionId === undefined ? await this.pickIdleSession() : this.store.get(node.sessionId);
    if (!session) return;
    this.show(session.id);
    await this.runs.followUp("Agent: Continue");
  }

  /** A word to the run under way: the one that is shown, or else the only one. */
  async steer(): Promise<void> {
    const session = this.steerable();
    if (!session) {
      void vscode.window.showInformationMessage(
        "The agent of this task is not working, so it would not hear you. “Agent: Follow Up” goes on with it.",
      );
      return;
    }
    const text = await vscode.window.showInputBox({
      title: `Agent: Tell the Agent (“${session.title}”)`,
      prompt: "It hears you after the step that it is at, and goes on with that in mind.",
      placeHolder: "What should it know?",
      ignoreFocusOut: true,
    });
    if (text === undefined || text.trim() === "") return;
    const params = { sessionId: session.id, text };
    const queued = await orShowWarning(() => this.server.request<{ queued: number }>(method.steer, params));
    if (queued) vscode.window.setStatusBarMessage("The agent will hear you after this step.", STATUS_MESSAGE_MS);
  }

  /** Forgets a session. What would be lost with it is said before. */
  async delete({ sessionId }: SessionNode): Promise<void> {
    const session = this.store.get(sessionId);
    const files = session?.row?.pendingFiles ?? 0;
    if (session && files > 0) {
      const detail = `${plural(files, "file")} with proposed changes that you have not decided on ${files === 1 ? "goes" : "go"} with it. Your files stay as they are.`;
      const sure = await vscode.window.showWarningMessage(
        `Delete “${session.title}”?`,
        { modal: true, detail },
        "Delete",
      );
      if (sure === undefined) return;
    }
    const deleted = await orShowWarning(() => this.server.request<null>(method.deleteSession, { sessionId }));
    if (deleted === undefined) return;
    this.store.remove(sessionId);
    const shown = this.store.active;
    if (shown) this.show(shown.id);
  }

  /** Waits for the conversation of a session that an earlier window left, if it is on its way. */
  async transcriptLoaded(session: Session | undefined): Promise<void> {
    if (session) await this.transcripts.get(session.id);
  }

  private steerable(): Session | undefined {
    const running = this.store.sessions.filter((session) => session.running);
    return running.find((session) => session === this.store.active) ?? (running.length === 1 ? running[0] : undefined);
  }

  private async pickIdleSession(): Promise<Session | undefined> {
    const idle = this.store.listed.filter(({ running }) => !running);
    if (idle.length === 0) {
      void vscode.window.showInformationMessage("There is no task to go on with.");
      return undefined;
    }
    const choices = sessionNodes(idle, this.store.active, Date.now()).map(
      ({ icon, label, description, sessionId }) => ({ label: `$(${icon}) ${label}`, description, sessionId }),
    );
    const chosen = await vscode.window.showQuickPick(choices, {
      title: "Agent: Continue Session",
      placeHolder: "Which task should go on?",
    });
    return chosen && this.store.get(chosen.sessionId);
  }

  /**
   * Asks for the conversation of a session that an earlier window left. A refused request is made again with the next change of
   * the session: the server that held it may be ending, or this one was. The reason is shown if the user chose the session.
   */
  private loadTranscript({ id, row, entries }: Session, chosen: boolean): void {
    // one without a title has not run yet
    if (!row?.title || entries.length > 0 || this.transcripts.has(id)) return;
    this.transcripts.set(id, this.requestTranscript(id, chosen));
  }

  private async requestTranscript(sessionId: string, chosen: boolean): Promise<void> {
    const open = (): Promise<OpenedSession> => this.server.request(method.openSession, { sessionId });
    const opened = await (chosen ? orShowWarning(open) : open().catch(() => undefined));
    if (opened) this.store.addTranscript(opened);
    else this.transcripts.delete(sessionId);
  }
}
