// At a signal, stops the VS Code windows and the browser that this process has opened, and only then ends the process,
// so that they do not outlive it.
import { constants } from "node:os";

const opened = new Set();
let handlesSignals = false;
let ending;

/** Registers `stop`, which ends something open. Returns a function to call if that thing ends without `stop`. */
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

/** Whether `endOnSignal` was called. If so, no other handler may end the process at a signal. */
export function endsOnSignal() {
  return handlesSignals;
}

// A loop, because something that was being opened when the signal came may be registered later.
async function endAll() {
  while (opened.size > 0) {
    const stops = [...opened];
    opened.clear();
    await Promise.allSettled(stops.map((stop) => stop()));
  }
}
