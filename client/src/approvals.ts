// The agent asks to run a command: a message that takes no focus, and a row in the Plan view until it is answered.

import * as vscode from "vscode";
import type { ApproveParams, ApproveResult } from "./protocol";
import type { Store } from "./state";
import { visible } from "./text";

const ACTIONS = [
  { title: "Allow Once", option: "allow_once" },
  { title: "Allow for This Session", option: "allow_session" },
  { title: "Reject", option: "reject" },
] as const;
const WHOLE = "Show Whole Command…";
/** A message that is longer, or has several lines, is cut by VS Code. */
const SHOWN_WHOLE = 300;

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

  /** Shows the whole command in a dialog, at the person's wish. */
  async show(approval: ApproveParams): Promise<void> {
    const chosen = await vscode.window.showWarningMessage(
      "The agent asks to run this command.",
      { modal: true, detail: details(approval) },
      ...ACTIONS.map((action) => action.title),
    );
    // closing the dialog is no answer: the question stays in the Plan view
    if (chosen !== undefined) this.answer(approval, chosen);
  }

  /** Answers from the Plan view's buttons. */
  decide(approval: ApproveParams, option: ApproveResult["option"]): void {
    this.open.find((other) => other.approval === approval)?.answer({ option });
  }

  private async notify(approval: ApproveParams): Promise<void> {
    const command = visible(approval.command ?? "");
    const whole = command.length <= SHOWN_WHOLE && !command.includes("\n");
    const [first] = approval.reasons;
    const text = whole
      ? `Run “${command}”? ${first ?? ""}`
      : `The agent asks to run a command of ${command.split("\n").length} lines. ${first ?? ""}`;
    const titles = ACTIONS.map((action) => action.title);
    const chosen = await vscode.window.showWarningMessage(text.trim(), ...(whole ? titles : [WHOLE, "Reject"]));
    if (chosen === WHOLE) await this.show(approval);
    else if (chosen !== undefined) this.answer(approval, chosen);
  }

  private answer(approval: ApproveParams, chosen: string): void {
    const action = ACTIONS.find((other) => other.title === chosen);
    if (action) this.decide(approval, action.option);
  }
}

function details(approval: ApproveParams): string {
  return [visible(approval.command ?? approval.uri ?? ""), `In: ${approval.cwd ?? ""}`, ...approval.reasons].join("\n\n");
}
