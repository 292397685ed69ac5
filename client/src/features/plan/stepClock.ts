// The duration of the step in progress: the seconds that the server reported last, and the time since then. Pure.

import type { PlanItem } from "../../wire/protocolStates";

export class StepClock {
  private lastCount: { id: string; seconds: number; at: number } | undefined;

  /** `now` returns milliseconds, from any starting point. */
  constructor(private readonly now: () => number) {}

  /**
   * Returns how many seconds the step has been in progress: the number that the server reported last, plus the time
   * since `elapsed` was first called with that number.
   */
  elapsed(sessionId: string, item: PlanItem): number {
    const id = `${sessionId} ${item.id}`;
    const { seconds } = item.evidence;
    if (this.lastCount?.id !== id || this.lastCount.seconds !== seconds)
      this.lastCount = { id, seconds, at: this.now() };
    return seconds + (this.now() - this.lastCount.at) / 1000;
  }

  /** Forgets the step, because no step is in progress. */
  reset(): void {
    this.lastCount = undefined;
  }
}
