// Redrawing at a limited rate.

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
