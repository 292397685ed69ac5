// Rewinds a session to its state before a prompt, or begins a new session with that state.

import { t } from "@vscode/l10n";
import { method, type RewindScope } from "../../wire/protocol";
import type { Runs } from "./runs";
import { orShowWarning } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import { isRewindable, type PromptEntry, type Session } from "../../state/session";
import type { Store } from "../../state/store";
import { countText } from "../../ui/format";
import { pick, showInformation, showWarning, type PickTexts } from "../../ui/show";
import { lineText } from "../../ui/shownText";

interface ScopeRow extends PickTexts {
  readonly scope: RewindScope;
}

const SCOPES: readonly ScopeRow[] = [
  {
    scope: "everything",
    icon: "discard",
    label: t("Conversation, Plan and Changes"),
    detail: t("Also undoes what you accepted later, except in files where that text has changed since."),
  },
  {
    scope: "conversation",
    icon: "comment-discussion",
    label: t("Conversation Only"),
    detail: t("The plan, the proposed changes and your files stay as they are."),
  },
  {
    scope: "fork",
    icon: "repo-forked",
    label: t("New Session from Here"),
    detail: t("A copy from before this message: what was proposed by then is in both sessions. Your files stay."),
  },
];

export class Rewinds {
  /**
   * `showOther` lets the user choose another session, and shows it. `offer` shows the prompt that is no longer in the
   * conversation, so that the user can edit and resend it.
   */
  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    private readonly runs: Runs,
    private readonly showOther: () => Promise<Session | undefined>,
    private readonly offer: (prompt: string) => Promise<void>,
  ) {}

  /** Lets the user pick a message of the shown session, or of another one, and rewinds the session to before it. */
  async pick(session = this.store.active): Promise<void> {
    const prompts = session?.entries.filter(isRewindable).reverse() ?? [];
    if (!session || prompts.length === 0) {
      const other = t("Another Session...");
      const chosen = await showInformation(t("This conversation has no message to rewind to."), other);
      if (chosen === other) await this.pickInOther();
      return;
    }
    const other = { label: t("Another Session..."), prompt: undefined };
    const items = [...prompts.map((prompt) => ({ label: lineText(prompt.text, 200), prompt })), other];
    const chosen = await pick(items, {
      title: t("Agent: Rewind “{0}”", session.title),
      placeholder: t("Rewind to before which message?"),
    });
    if (chosen === other) await this.pickInOther();
    else if (chosen?.prompt) await this.rewind(session, chosen.prompt);
  }

  private async pickInOther(): Promise<void> {
    const session = await this.showOther();
    if (session) await this.pick(session);
  }

  /**
   * Asks what to restore, rewinds the session to before a prompt or begins a new session from there, and offers the
   * prompt. Asks before it stops a run. Does nothing if the prompt has no checkpoint.
   */
  async rewind(session: Session, { checkpoint }: PromptEntry): Promise<void> {
    if (checkpoint === null) return;
    const chosen = await pick(SCOPES, {
      title: t("Agent: Rewind to Before This Message"),
      placeholder: t("What should be restored?"),
    });
    if (!chosen || !(await this.ensureStopped(session, chosen.scope))) return;
    const params = { sessionId: session.id, checkpoint, scope: chosen.scope };
    const result = await orShowWarning(() => this.server.request(method.rewindSession, params));
    if (!result) return;
    if (chosen.scope === "fork") await this.showFork(result.sessionId);
    else this.store.rewind(session.id, checkpoint);
    await this.offer(result.prompt);
    const [first] = result.kept;
    if (!first) return;
    const files = countText(new Set(result.kept.map(({ uri }) => uri)).size, "file");
    const kept = t("Rewound, but accepted text stays in {0}. {1}", files, first.message);
    void showWarning(kept);
  }

  /**
   * If the session is running, asks whether to stop the run, and stops it. Returns false if the user does not agree. A
   * fork does not need the run to stop.
   */
  private async ensureStopped({ id }: Session, scope: RewindScope): Promise<boolean> {
    if (scope === "fork" || !this.store.get(id)?.running) return true;
    const stop = t("Stop and Rewind");
    const detail = t("The run is stopped first.");
    const chosen = await showWarning(t("The agent is working."), { modal: true, detail }, stop);
    if (chosen !== stop) return false;
    if (this.store.get(id)?.running) await this.runs.stop(id);
    return true;
  }

  private async showFork(sessionId: string): Promise<void> {
    const opened = await orShowWarning(() => this.server.request(method.openSession, { sessionId }));
    if (opened) this.store.addTranscript(opened);
    this.store.show(sessionId);
  }
}
