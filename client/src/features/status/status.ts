// The status bar items: what the agents of all sessions do and wait for, and how much is left to review.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { relative } from "../../ui/folders";
import { showStatus, statusItem } from "../../ui/show";
import { reviewText, statusTexts } from "./statusTexts";
import { drawnFrom, type Scheduled } from "../../ui/throttle";
import type { Store } from "../../state/store";

const SECOND = 1000;

export class Status implements vscode.Disposable {
  private readonly agentItem = statusItem("fairlead.status", "Agent", 100);
  private readonly reviewItem = statusItem("fairlead.review", "Agent: Review", 99);
  private readonly redraw: Scheduled;
  private countdown: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: Store,
    /** Counts the proposed files: those that are left to review, and all of them. */
    private readonly countFiles: () => { readonly left: number; readonly total: number },
  ) {
    this.reviewItem.command = "fairlead.nextChange";
    this.redraw = drawnFrom(store, this.draw);
    this.draw();
  }

  dispose(): void {
    clearTimeout(this.countdown);
    for (const each of [this.redraw, this.agentItem, this.reviewItem]) each.dispose();
  }

  private readonly draw = (): void => {
    this.drawReview();
    clearTimeout(this.countdown);
    const { active, sessions } = this.store;
    if (sessions.length === 0) {
      this.agentItem.hide();
      return;
    }
    const now = Date.now();
    const { isWaiting, ...texts } = statusTexts(active, sessions, now, relative);
    this.agentItem.backgroundColor = isWaiting ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.agentItem.command = isWaiting ? "fairlead.answer" : "fairlead.plan.focus";
    showStatus(this.agentItem, texts);
    // the text counts the seconds until a failed request is sent again
    if (active?.retry && active.retry.at > now)
      this.countdown = setTimeout(() => {
        this.draw();
      }, SECOND);
  };

  private drawReview(): void {
    const { left, total } = this.countFiles();
    if (left === 0) {
      this.reviewItem.hide();
      return;
    }
    const tooltip = t("Left to review: {0} of {1} proposed files.\nShow the next change.", left, total);
    showStatus(this.reviewItem, { icon: "diff-multiple", text: reviewText(left, total), tooltip });
  }
}
