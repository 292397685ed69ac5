// How long the step in progress has been at work by now: what the server counted last, and the time since then. Pure.

import type { PlanItem } from "../protocol";

export class StepClock {
  private lastCount: { id: string; seconds: number; at: number } | undefined;

  /** `now` tells milliseconds, from any start. */
  constructor(private readonly now: () => number) {}

  /** Seconds of this step. The server's figure counts from when it came first, not from each time it is told again. */
  elapsed(sessionId: string, item: PlanItem): number {
    const id = `${sessionId} ${item.id}`;
    const { seconds } = item.evidence;
    if (this.lastCount?.id !== id || this.lastCount.seconds !== seconds)
      this.lastCount = { id, seconds, at: this.now() };
    return seconds + (this.now() - this.lastCount.at) / 1000;
  }

  /** Nothing is at work: the next step begins anew. */
  reset(): void {
    this.lastCount = undefined;
  }
}
