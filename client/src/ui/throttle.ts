// Drawing that is put together.

/** Calls `draw` soon, once for all calls in between: a busy server must not make a busy screen. */
export function coalesced(draw: () => void, milliseconds = 50): { schedule: () => void; dispose: () => void } {
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
