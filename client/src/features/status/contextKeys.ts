// The context keys of the "when" clauses in package.json that depend on the store. Other modules set a few more.

import { isReadyToGo, pauseReason } from "../../state/waiting";
import type { Store } from "../../state/store";
import { setContextKey } from "../../ui/contextKeys";
import { drawnFrom, type Scheduled } from "../../ui/throttle";

/** Keeps the context keys that depend on the store up to date, until the result is disposed. */
export function watchContextKeys(store: Store): Scheduled {
  const known = new Map<string, boolean>();
  const update = (): void => {
    const { active, listed, awaitingAnswer, reviewable, sessions } = store;
    const values = {
      running: sessions.some(({ running }) => running),
      shownRunning: active?.running === true,
      hasSession: active !== undefined,
      hasSessions: listed.length > 0,
      readyToGo: isReadyToGo(active),
      paused: pauseReason(active) !== undefined,
      waiting: awaitingAnswer.length > 0,
      hasProposals: reviewable.length > 0,
      severalReviewable: reviewable.length > 1,
      hasNeeded: store.withSmallestSet !== undefined,
      canUndoReview: store.sessionsWith("undoLabel").length > 0,
      canRedoReview: store.sessionsWith("redoLabel").length > 0,
    };
    for (const [name, value] of Object.entries(values)) {
      if (known.get(name) !== value) setContextKey(name, value);
      known.set(name, value);
    }
  };
  update();
  return drawnFrom(store, update);
}
