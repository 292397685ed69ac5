// Waits for language support that has just been started. Language support that is not ready yet finds nothing, but does
// not fail.

/** How long to repeat a question, in milliseconds. After that, the support of its language counts as started. */
const START_LIMIT = 5000;
/** The pause before the first repetition, in milliseconds. Each further pause is twice as long. */
const FIRST_PAUSE = 100;

export interface Clock {
  /** The time in milliseconds, from any starting point. */
  now(): number;
  sleep(milliseconds: number): Promise<void>;
}

const CLOCK: Clock = {
  now: () => performance.now(),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

export class Readiness {
  /**
   * The languages whose support has found something or has had enough time to start. For these, a question is asked
   * only once.
   */
  private readonly started = new Set<string>();

  constructor(private readonly clock: Clock = CLOCK) {}

  /**
   * Asks a question, and repeats it while nothing is found, the support of the language may still be starting, and the
   * request is not cancelled. Returns the last answer.
   */
  async ask<Found>(
    language: string,
    ask: () => Promise<readonly Found[]>,
    isCancelled: () => boolean,
  ): Promise<readonly Found[]> {
    const end = this.clock.now() + START_LIMIT;
    for (let pause = FIRST_PAUSE; ; pause *= 2) {
      const found = await ask();
      const left = end - this.clock.now();
      if (found.length > 0 || left <= 0) this.started.add(language);
      if (this.started.has(language) || isCancelled()) return found;
      await this.clock.sleep(Math.min(pause, left));
    }
  }
}
