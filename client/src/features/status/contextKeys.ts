// The context keys of the "when" clauses in package.json that depend on the store. Other modules set a few more.

import type * as vscode from "vscode";
import { isReadyToGo, pauseReason } from "../../state/waiting";
import { isRewindable } from "../../state/session";
import type { Store } from "../../state/store";
import { setContextKey } from "../../ui/contextKeys";
import { drawnFrom, type Scheduled } from "../../ui/throttle";

/** Keeps the context keys that depend on the store up to date. */
export class ContextKeys implements vscode.Disposable {
  private readonly values = new Map<string, boolean>();
  private readonly update: Scheduled;

  constructor(private readonly store: Store) {
    this.update = drawnFrom(store, this.set);
    this.set();
  }

  dispose(): void {
    this.update.dispose();
  }

  private readonly set = (): void => {
    const { active, awaitingAnswer, reviewable, sessions } = this.store;
    const values = {
      running: sessions.some(({ running }) => running),
      shownRunning: active?.running === true,
      hasSession: active !== undefined,
      canRewind: active?.entries.some(isRewindable) === true,
      readyToGo: isReadyToGo(active),
      paused: pauseReason(active) !== undefined,
      waiting: awaitingAnswer.length > 0,
      hasProposals: reviewable.length > 0,
      hasNeeded: this.store.withSmallestSet !== undefined,
      canUndoReview: this.store.sessionsWith("undoLabel").length > 0,
      canRedoReview: this.store.sessionsWith("redoLabel").length > 0,
    };
    for (const [name, value] of Object.entries(values)) {
      if (this.values.get(name) === value) continue;
      this.values.set(name, value);
      setContextKey(name, value);
    }
  };
}
