// Ends what a process has opened, its windows of VS Code and its browser, when a signal ends the process. Whoever sent the signal then
// knows that they have ended when the process has.
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

// What was being opened when the signal came is ended too.
async function endAll() {
  while (opened.size > 0) {
    const stops = [...opened];
    opened.clear();
    await Promise.allSettled(stops.map((stop) => stop()));
  }
}
