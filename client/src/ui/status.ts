// The status bar item: what the agent does.

import * as vscode from "vscode";
import { planCount } from "../plan/planRows";
import { contextUsage, usageSummary } from "./format";
import { throttled } from "./throttle";
import type { Session } from "../session";
import type { Store } from "../state";
import { isWorking, pauseReason } from "../questions/waiting";

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("fairlead.status", vscode.StatusBarAlignment.Left, 100);
  private readonly redraw = throttled(() => {
    this.draw();
  });
  private readonly unsubscribe: () => void;
  private countdown: NodeJS.Timeout | undefined;

  constructor(private readonly store: Store) {
    this.item.name = "Agent";
    this.unsubscribe = store.onChange((change) => {
      if (change !== "conversation") this.redraw.schedule();
    });
    this.draw();
  }

  dispose(): void {
    clearTimeout(this.countdown);
    this.unsubscribe();
    this.redraw.dispose();
    this.item.dispose();
  }

  private draw(): void {
    const session = this.store.active;
    const asking = this.store.awaitingAnswer.at(0);
    const paused = pauseReason(session) !== undefined;
    if (!session) {
      this.item.hide();
      return;
    }
    const retryText = isWorking(session) ? this.retries(session) : undefined;
    const text = asking ? askingText(asking, session) : (retryText ?? restText(session, paused));
    const replay = session.model.startsWith("replay") ? " (replay)" : "";
    const icon = asking ? "$(question)" : session.running ? "$(sync~spin)" : paused ? "$(debug-pause)" : "$(checklist)";
    this.item.text = `${icon} ${text}${replay}`;
    this.item.backgroundColor = asking ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    const current = session.plan?.items.find((item) => item.status === "in_progress");
    const doing = current && session.running ? current.activeForm || current.content : "";
    const spent = session.usage ? [`This run: ${usageSummary(session.usage)} tokens`, contextUsage(session.usage)] : [];
    const tooltip = [session.title, doing, session.retry?.reason ?? "", pauseReason(session) ?? "", ...spent];
    this.item.tooltip = tooltip.filter(Boolean).join("\n");
    this.item.command = asking ? "fairlead.answer" : "fairlead.plan.focus";
    this.item.show();
  }

  /** The countdown until a failed request is sent again; updates itself each second. */
  private retries({ retry }: Session): string | undefined {
    clearTimeout(this.countdown);
    const seconds = retry ? Math.ceil((retry.at - Date.now()) / 1000) : 0;
    if (seconds <= 0) return undefined;
    this.countdown = setTimeout(() => {
      this.draw();
    }, 1000);
    return `Agent: retrying in ${seconds} s`;
  }
}

function askingText(asking: Session, shown: Session): string {
  return asking === shown ? "Agent: waiting for you" : "Agent: another session is waiting for you";
}

function restText(session: Session, paused: boolean): string {
  if (session.isStarting) return "Agent: starting";
  const what = ["Agent", paused ? "paused" : "", planCount(session.plan)];
  return [what.filter(Boolean).join(" "), session.usage ? usageSummary(session.usage) : ""].filter(Boolean).join(" · ");
}
