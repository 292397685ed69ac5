// The actions of the buttons in notices and in the conversation, and of the status bar item.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { Approvals } from "./approvals";
import type { Questions } from "./questions";
import type { Store } from "../../state/store";
import { needsDecision, type WaitingAction } from "../../state/waiting";
import { showInformation } from "../../ui/show";

export class NoticeActions {
  constructor(
    private readonly store: Store,
    private readonly approvals: Approvals,
    private readonly questions: Questions,
    private readonly continueRun: (sessionId: string) => Promise<void>,
  ) {}

  perform(action: WaitingAction): unknown {
    switch (action.kind) {
      case "decide":
        return this.approvals.choose(action.approval, action.option);
      case "show":
        return this.approvals.showDialog(action.approval);
      case "answer":
        this.questions.open(action.question);
        return undefined;
      case "reply":
        this.questions.answer(action.question, action.text);
        return undefined;
      case "continueRun":
        return this.continueRun(action.sessionId);
    }
  }

  /**
   * Opens a question or approval of the active session or, if it has none, of another session. A question comes before
   * an approval. If no session has either, shows another session that waits for a decision.
   */
  openFirst(): unknown {
    const { active, sessions } = this.store;
    const [session = sessions.find((other) => other !== active && needsDecision(other))] = this.store.awaitingAnswer;
    if (!session) return showInformation(t("Nothing is waiting for your answer."));
    this.store.show(session.id);
    const [question] = session.questions;
    const [approval] = session.approvals;
    if (question) return this.perform({ kind: "answer", question });
    if (approval) return this.perform({ kind: "show", approval });
    return vscode.commands.executeCommand("fairlead.plan.focus");
  }
}
