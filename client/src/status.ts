// The status bar: what the agent does, in a few words.

import * as vscode from "vscode";
import { planCount } from "./planRows";
import { coalesced, readyToGo, waiting, type Store } from "./state";

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("fairlead.status", vscode.StatusBarAlignment.Left, 100);
  private readonly redraw = coalesced(() => {
    this.draw();
  });
  private readonly unsubscribe: () => void;

  constructor(private readonly store: Store) {
    this.item.name = "Agent";
    this.unsubscribe = store.onChange((change) => {
      if (change !== "conversation") this.redraw.schedule();
    });
    this.draw();
  }

  dispose(): void {
    this.unsubscribe();
    this.redraw.dispose();
    this.item.dispose();
  }

  private draw(): void {
    const session = this.store.active;
    const running = this.store.sessions.some((other) => other.running);
    void vscode.commands.executeCommand("setContext", "fairlead.running", running);
    void vscode.commands.executeCommand("setContext", "fairlead.hasSession", session !== undefined);
    void vscode.commands.executeCommand("setContext", "fairlead.readyToGo", readyToGo(session));
    if (!session) {
      this.item.hide();
      return;
    }
    const count = planCount(session.plan);
    const waits = waiting(session) > 0;
    const icon = waits ? "$(question)" : session.running ? "$(sync~spin)" : "$(checklist)";
    const text = waits ? "Agent waits for you" : ["Agent", count].filter(Boolean).join(" ");
    const replay = session.model.startsWith("replay") ? " (replay)" : "";
    this.item.text = `${icon} ${text}${replay}`;
    const current = session.plan?.items.find((item) => item.status === "in_progress");
    this.item.tooltip = [session.title, current && session.running ? current.activeForm || current.content : ""].filter(Boolean).join("\n");
    this.item.command = "fairlead.plan.focus";
    this.item.show();
  }
}
