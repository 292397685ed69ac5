// The user's actions on sessions: find, show, continue, rename, steer and delete. Also loads the transcripts of earlier windows.

import { t } from "@vscode/l10n";
import type * as vscode from "vscode";
import { oneOrMany } from "../../ui/format";
import { method, type OpenedSession } from "../../wire/protocol";
import type { Runs } from "./runs";
import { orShowWarning } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import { sessionNodes, type SessionNode } from "./sessionRows";
import type { Session } from "../../state/session";
import type { Store } from "../../state/store";
import { askForText, pick, showBriefly, showInformation, showWarning } from "../../ui/show";

/** A subagent that works, by the call that started it. */
interface Subagent {
  readonly sessionId: string;
  readonly callId: string;
  readonly title: string;
}

export class Sessions implements vscode.Disposable {
  /** The sessions whose transcript was requested. A failed request does not count. */
  private readonly requestedTranscripts = new Map<string, Promise<void>>();
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

  /**
   * Makes all views show this session. Runs in other sessions continue. Returns false if another window has it open, as
   * the user has seen, or if it does not exist anymore.
   */
  async show(sessionId: string): Promise<boolean> {
    // the other window may have closed it just now
    const isElsewhere = this.store.get(sessionId)?.row?.openElsewhere === true;
    if (isElsewhere && !(await orShowWarning(() => this.open(sessionId)))) return false;
    return this.store.show(sessionId);
  }

  /** Shows the given session, or an idle one that the user picks. Then asks for another task and runs it there. */
  async continueSession(sessionId?: string): Promise<void> {
    const session = sessionId === undefined ? await this.pickIdleSession() : this.store.get(sessionId);
    if (!session || !(await this.show(session.id))) return;
    await this.runs.followUp((task) => t("Agent: Continue “{0}”", task));
  }

  /**
   * Asks for a message, and sends it to the active session if that is running, else to the only running session. If
   * there is no such session, only says so.
   */
  async steer(): Promise<void> {
    const session = this.steerable();
    if (!session) {
      void showInformation(t("This session is not running. Use “Agent: Follow Up” to continue."));
      return;
    }
    if (warnIfStarting(session)) return;
    const texts = {
      title: t("Agent: Tell the Agent (“{0}”)", session.title),
      prompt: t("The agent reads this after its current action."),
      placeholder: t("What should the agent know?"),
    };
    const text = await askForText(texts, { ignoreFocusOut: true });
    if (text !== undefined && text.trim() !== "") await this.sendMessage(session.id, text);
  }

  /**
   * Sends a message to a running session. Returns whether the server has queued it. If not, the user has seen why. If
   * the message arrives too late for the run, the model reads it with the next prompt.
   */
  async sendMessage(sessionId: string, text: string): Promise<boolean> {
    if (warnIfStarting(this.store.get(sessionId))) return false;
    const params = { sessionId, text };
    const queued = await orShowWarning(() => this.server.request(method.steer, params));
    if (queued) showBriefly(t("Message queued."));
    return queued !== undefined;
  }

  /** Asks for a message to a subagent, and sends it. */
  async tellSubagent({ sessionId, callId, title }: Subagent): Promise<void> {
    const texts = {
      title: t("Agent: Tell Subagent (“{0}”)", title),
      prompt: t("The agent reads this after its current action."),
      placeholder: t("What should the agent know?"),
    };
    const text = await askForText(texts, { ignoreFocusOut: true });
    if (text === undefined || text.trim() === "") return;
    const params = { sessionId, text, toolCallId: callId };
    if (await orShowWarning(() => this.server.request(method.steer, params))) showBriefly(t("Message queued."));
  }

  /** Stops a subagent. The run goes on. */
  async stopSubagent({ sessionId, callId }: Subagent): Promise<void> {
    await orShowWarning(() => this.server.request(method.stopSubagent, { sessionId, toolCallId: callId }));
  }

  /** Lets the user find a session by its title or state, and shows it. */
  async find(): Promise<void> {
    const texts = { title: t("Agent: Find Session"), placeholder: t("Type a part of its title or state.") };
    const chosen = await this.pick(this.store.listed, texts, t("There is no session yet. Run a task first."));
    if (chosen) await this.show(chosen.id);
  }

  /** Lets the user choose another session, and shows it. Returns it as soon as its conversation is known. */
  async showOther(): Promise<Session | undefined> {
    const others = this.store.listed.filter((session) => session !== this.store.active);
    const texts = { title: t("Agent: Rewind"), placeholder: t("Choose the session to rewind.") };
    const chosen = await this.pick(others, texts, t("There is no other session."));
    if (!chosen || !(await this.show(chosen.id))) return undefined;
    await this.requestedTranscripts.get(chosen.id);
    return chosen;
  }

  /** Asks for another title of a session. */
  async rename({ sessionId, label }: SessionNode): Promise<void> {
    const title = await askForText({ title: t("Agent: Rename Session") }, { value: label });
    if (title === undefined || title.trim() === "" || title === label) return;
    await orShowWarning(() => this.server.request(method.renameSession, { sessionId, title }));
  }

  /** Deletes a session. If undecided changes would be lost, asks for confirmation first. */
  async delete({ sessionId }: SessionNode): Promise<void> {
    const session = this.store.get(sessionId);
    if (!session) return;
    const files = session.row?.pendingFiles ?? 0;
    const detail =
      files === 0
        ? t("Its conversation and its record will be lost. Your files stay unchanged.")
        : oneOrMany(
            files,
            t("It has undecided changes to 1 file, which will be lost. Your files stay unchanged."),
            t("It has undecided changes to {0} files, which will be lost. Your files stay unchanged.", files),
          );
    const sure = await showWarning(t("Delete “{0}”?", session.title), { modal: true, detail }, t("Delete"));
    if (sure === undefined) return;
    const deleted = await orShowWarning(() => this.server.request(method.deleteSession, { sessionId }));
    if (deleted === undefined) return;
    this.store.remove(sessionId);
    const shown = this.store.active;
    if (shown) this.store.show(shown.id);
  }

  private steerable(): Session | undefined {
    const running = this.store.sessions.filter((session) => session.running);
    return running.find((session) => session === this.store.active) ?? (running.length === 1 ? running[0] : undefined);
  }

  private async pickIdleSession(): Promise<Session | undefined> {
    const idle = this.store.listed.filter(({ running, row }) => !running && !row?.openElsewhere);
    const texts = { title: t("Agent: Continue Session"), placeholder: t("Choose the session to continue.") };
    return this.pick(idle, texts, t("There is no session to continue."));
  }

  /** Lets the user choose one of these sessions. If there is none, says so. */
  private async pick(
    sessions: readonly Session[],
    texts: { title: string; placeholder: string },
    noneText: string,
  ): Promise<Session | undefined> {
    const rows = sessionNodes(sessions, this.store.active, Date.now());
    if (rows.length === 0) {
      void showInformation(noneText);
      return undefined;
    }
    const choices = rows.map(({ icon, label, found, sessionId }) => ({ icon, label, description: found, sessionId }));
    const chosen = await pick(choices, texts);
    return chosen && this.store.get(chosen.sessionId);
  }

  /**
   * Requests the transcript of a session of an earlier window. If the server refuses, the next change of the session
   * requests it again, because an earlier server may still have the session open. `isChosen`: whether the user has just
   * chosen the session. Only then is a refusal shown.
   */
  private loadTranscript({ id, row, entries }: Session, isChosen: boolean): void {
    if (row?.openElsewhere && !isChosen) return;
    // a session without a title has not run yet
    if (!row?.title || entries.length > 0 || this.requestedTranscripts.has(id)) return;
    this.requestedTranscripts.set(id, this.requestTranscript(id, isChosen));
  }

  private async requestTranscript(sessionId: string, isChosen: boolean): Promise<void> {
    const open = (): Promise<OpenedSession> => this.open(sessionId);
    const opened = await (isChosen ? orShowWarning(open) : open().catch(() => undefined));
    if (opened) this.store.addTranscript(opened);
    else this.requestedTranscripts.delete(sessionId);
  }

  private open(sessionId: string): Promise<OpenedSession> {
    return this.server.request(method.openSession, { sessionId });
  }
}

/** Returns whether the session is only a placeholder. If it is, tells the user to try again. */
function warnIfStarting(session: Session | undefined): boolean {
  if (session?.isStarting) void showInformation(t("The task is starting. Send this in a moment."));
  return session?.isStarting === true;
}
