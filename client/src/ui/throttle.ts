// Redrawing at a limited rate.

import type { Change, Session } from "../state/session";
import type { Store } from "../state/store";

/** `schedule` calls `draw` soon. Until then, further calls of `schedule` have no effect. */
export interface Scheduled {
  schedule: () => void;
  dispose: () => void;
}

/**
 * Returns a `Scheduled` that draws as soon as possible, but never twice within the given time, so that a busy server
 * does not cause constant redrawing.
 */
export function throttled(draw: () => void, milliseconds = 50): Scheduled {
  let last = -Infinity;
  const drawNow = (): void => {
    last = performance.now();
    draw();
  };
  return scheduled(drawNow, () => Math.max(0, last + milliseconds - performance.now()));
}

/**
 * Returns a throttled `Scheduled` that also draws after each relevant change of the store, until it is disposed. By
 * default, all changes are relevant except those of entries.
 */
export function drawnFrom(
  store: Store,
  draw: () => void,
  isRelevant: (change: Change, session: Session) => boolean = (change) => change !== "conversation",
  milliseconds?: number,
): Scheduled {
  const { schedule, dispose } = throttled(draw, milliseconds);
  const unsubscribe = store.onChange((change, session) => {
    if (isRelevant(change, session)) schedule();
  });
  return {
    schedule,
    dispose: () => {
      unsubscribe();
      dispose();
    },
  };
}

/** Returns a `Scheduled` that draws when the given time has passed after `schedule` was called. */
export function delayed(draw: () => void, milliseconds: number): Scheduled {
  return scheduled(draw, () => milliseconds);
}

function scheduled(draw: () => void, delay: () => number): Scheduled {
  let timer: NodeJS.Timeout | undefined;
  return {
    schedule: () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        draw();
      }, delay());
    },
    dispose: () => {
      clearTimeout(timer);
    },
  };
}
