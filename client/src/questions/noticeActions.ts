// The actions of the links of a notice and the status bar item.

import * as vscode from "vscode";
import type { Approvals } from "./approvals";
import type { NoticeAction } from "./noticeTexts";
import type { Questions } from "./questions";
import type { Runs } from "../sessions/runs";
import type { Store } from "../state";

export class NoticeActions {
  constructor(
    private readonly store: Store,
    private readonly approvals: Approvals,
    private readonly questions: Questions,
    private readonly runs: Runs,
  ) {}

  perform(act: NoticeAction): unknown {
    switch (act.kind) {
      case "decide":
        this.approvals.decide(act.approval, act.option);
        return undefined;
      case "show":
        return this.approvals.showDialog(act.approval);
      case "answer":
        this.questions.open(act.question);
        return undefined;
      case "continueRun":
        return this.runs.continueRun(act.sessionId);
    }
  }

  /** Opens the first question or approval that waits for the user, in the active session if it has one. */
  openFirst(): unknown {
    const [session] = this.store.awaitingAnswer;
    if (!session) return vscode.window.showInformationMessage("Nothing is waiting for your answer.");
    this.store.show(session.id);
    const [question] = session.questions;
    const [approval] = session.approvals;
    if (question) return this.perform({ kind: "answer", question });
    return approval && this.perform({ kind: "show", approval });
  }
}
