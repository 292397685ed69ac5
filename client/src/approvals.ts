// Asking for a command or a file: a message that takes no focus, and a row in the Plan view until it is answered.

import * as vscode from "vscode";
import { asked, type Choice } from "./approvalTexts";
import { relative } from "./editsView";
import type { ApproveParams, ApproveResult } from "./protocol";
import type { Store } from "./state";

const WHOLE = "Show Whole Command…";

interface Open {
  readonly approval: ApproveParams;
  readonly answer: (result: ApproveResult) => void;
}

export class Approvals {
  private readonly open: Open[] = [];

  constructor(private readonly store: Store) {}

  /** Asks, and resolves with the person's answer; a withdrawn question resolves as a rejection. */
  async ask(approval: ApproveParams, withdrawn: vscode.CancellationToken): Promise<ApproveResult> {
    const answered = new Promise<ApproveResult>((resolve) => {
      this.open.push({ approval, answer: resolve });
      withdrawn.onCancellationRequested(() => {
        resolve({ option: "reject" });
      });
    });
    this.store.ask(approval);
    void this.notify(approval);
    try {
      return await answered;
    } finally {
      const index = this.open.findIndex((other) => other.approval === approval);
      if (index >= 0) this.open.splice(index, 1);
      this.store.answered(approval);
    }
  }

  /** Shows the whole of it in a dialog, at the person's wish. */
  async show(approval: ApproveParams): Promise<void> {
    const { question, details, choices } = asked(approval, relative);
    const chosen = await vscode.window.showWarningMessage(question, { modal: true, detail: details }, ...choices.map(({ title }) => title));
    // closing the dialog is no answer: the question stays in the Plan view
    this.answer(approval, choices, chosen);
  }

  /** Answers from the Plan view's buttons. */
  decide(approval: ApproveParams, option: ApproveResult["option"]): void {
    this.open.find((other) => other.approval === approval)?.answer({ option });
  }

  private async notify(approval: ApproveParams): Promise<void> {
    const { short, question, choices } = asked(approval, relative);
    const titles = choices.map(({ title }) => title);
    const chosen = await vscode.window.showWarningMessage(short ?? question, ...(short === undefined ? [WHOLE, "Reject"] : titles));
    if (chosen === WHOLE) await this.show(approval);
    else this.answer(approval, choices, chosen);
  }

  private answer(approval: ApproveParams, choices: readonly Choice[], chosen: string | undefined): void {
    const choice = choices.find(({ title }) => title === chosen);
    if (choice) this.decide(approval, choice.option);
  }
}
