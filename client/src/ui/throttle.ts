// Redrawing at a limited rate.

/** Calls `draw` once, `milliseconds` after the first of several `schedule` calls, so that a busy server does not cause constant redrawing. */
export function throttled(draw: () => void, milliseconds = 50): { schedule: () => void; dispose: () => void } {
  let timer: NodeJS.Timeout | undefined;
  return {
    schedule: () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        draw();
      }, milliseconds);
    },
    dispose: () => {
      clearTimeout(timer);
    },
  };
}
