// The pending approvals. They are in the store, so they appear as rows, as notices, in the conversation and in the
// status bar.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { describeApproval } from "../../ui/approvalTexts";
import { relative } from "../../ui/folders";
import type { ApproveParams, ApproveResult } from "../../wire/protocol";
import type { Store } from "../../state/store";
import { showWarning } from "../../ui/show";

export class Approvals {
  private readonly pending = new Map<ApproveParams, (result: ApproveResult) => void>();

  constructor(private readonly store: Store) {}

  /** Waits for the user's answer. A withdrawn approval counts as rejected. */
  async ask(approval: ApproveParams, withdrawn: vscode.CancellationToken): Promise<ApproveResult> {
    const answered = new Promise<ApproveResult>((resolve) => {
      this.pending.set(approval, resolve);
      withdrawn.onCancellationRequested(() => {
        resolve({ option: "reject" });
      });
    });
    this.store.addApproval(approval);
    try {
      return await answered;
    } finally {
      this.pending.delete(approval);
      this.store.removeApproval(approval);
    }
  }

  /** Shows the whole approval in a dialog. Enter chooses the safe answer; closing the dialog is not an answer. */
  async showDialog(approval: ApproveParams): Promise<void> {
    const { dialogTitle: question, details, choices } = describeApproval(approval, relative);
    const safeFirst = [...choices].sort((a, b) => Number(b.option === "reject") - Number(a.option === "reject"));
    const later = { title: t("Decide Later"), isCloseAffordance: true };
    const chosen = await showWarning(
      question,
      { modal: true, detail: details },
      ...safeFirst.map(({ title }) => ({ title })),
      later,
    );
    const choice = choices.find(({ title }) => title === chosen?.title);
    if (choice) this.decide(approval, choice.option);
  }

  /** Answers an approval, if it is still pending. */
  decide(approval: ApproveParams, option: ApproveResult["option"]): void {
    this.pending.get(approval)?.({ option });
  }
}
