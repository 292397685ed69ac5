// At a signal, stops the VS Code windows and the browser that this process has opened, before the process itself ends.
// So when the process has ended, they have ended too.
import { constants } from "node:os";

const opened = new Set();
let handlesSignals = false;
let ending;

/** Registers the function that stops something open. Returns a function to call when it has ended in another way. */
export function registerStop(stop) {
  opened.add(stop);
  return () => opened.delete(stop);
}

/** From now on, a signal ends everything that is open before it ends the process. */
export function endOnSignal() {
  handlesSignals = true;
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(name, () => {
      ending ??= endAll().finally(() => process.exit(128 + constants.signals[name]));
    });
  }
}

/** Whether `endOnSignal` was called, so that nobody else may end the process at a signal. */
export function endsOnSignal() {
  return handlesSignals;
}

// The loop also ends what was still being opened when the signal came.
async function endAll() {
  while (opened.size > 0) {
    const stops = [...opened];
    opened.clear();
    await Promise.allSettled(stops.map((stop) => stop()));
  }
}
