// The status bar: what the agent does, in a few words.

import * as vscode from "vscode";
import { planCount } from "./planRows";
import { fullness, paid } from "./figures";
import { coalesced } from "./coalesced";
import { readyToGo, waiting, type Session, type Store } from "./state";

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("fairlead.status", vscode.StatusBarAlignment.Left, 100);
  private readonly redraw = coalesced(() => {
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
    const running = this.store.sessions.some((other) => other.running);
    void vscode.commands.executeCommand("setContext", "fairlead.running", running);
    void vscode.commands.executeCommand("setContext", "fairlead.shownRunning", session?.running === true);
    void vscode.commands.executeCommand("setContext", "fairlead.hasSession", session !== undefined);
    void vscode.commands.executeCommand("setContext", "fairlead.readyToGo", readyToGo(session));
    if (!session) {
      this.item.hide();
      return;
    }
    const count = planCount(session.plan);
    const waits = waiting(session) > 0;
    const retries = session.running ? this.retries(session) : undefined;
    const icon = waits ? "$(question)" : session.running ? "$(sync~spin)" : "$(checklist)";
    const cost = session.usage ? paid(session.usage) : "";
    const text = waits ? "Agent waits for you" : (retries ?? [["Agent", count].filter(Boolean).join(" "), cost].filter(Boolean).join(" · "));
    const replay = session.model.startsWith("replay") ? " (replay)" : "";
    this.item.text = `${icon} ${text}${replay}`;
    const current = session.plan?.items.find((item) => item.status === "in_progress");
    const doing = current && session.running ? current.activeForm || current.content : "";
    const spent = session.usage ? [`This run: ${paid(session.usage)} tokens`, fullness(session.usage)] : [];
    const tooltip = [session.title, doing, session.retry?.reason ?? "", ...spent];
    this.item.tooltip = tooltip.filter(Boolean).join("\n");
    this.item.command = "fairlead.plan.focus";
    this.item.show();
  }

  /** When a request that failed is sent again, drawn anew each second. */
  private retries({ retry }: Session): string | undefined {
    clearTimeout(this.countdown);
    const seconds = retry ? Math.ceil((retry.at - Date.now()) / 1000) : 0;
    if (seconds <= 0) return undefined;
    this.countdown = setTimeout(() => {
      this.draw();
    }, 1000);
    return `Agent asks again in ${seconds} s`;
  }
}
