// When a signal ends a process, first ends what the process has opened: its VS Code windows and its browser. So whoever sent the signal
// knows that these have ended as soon as the process has.
import { constants } from "node:os";

const opened = new Set();
let asked = false;
let ending;

/** Notes something that is open; `stop` ends it. Returns a function that notes its end. */
export function note(stop) {
  opened.add(stop);
  return () => opened.delete(stop);
}

/** From now on, a signal ends everything that is open before it ends the process. */
export function endOnSignal() {
  asked = true;
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(name, () => {
      ending ??= endAll().finally(() => process.exit(128 + constants.signals[name]));
    });
  }
}

/** Whether `endOnSignal` was called, so that nobody else may end the process at a signal. */
export function endsOnSignal() {
  return asked;
}

// The loop also ends what was still being opened when the signal came.
async function endAll() {
  while (opened.size > 0) {
    const stops = [...opened];
    opened.clear();
    await Promise.allSettled(stops.map((stop) => stop()));
  }
}
