// What is known about the proposals of all sessions together. Pure.

import type { Together } from "../wire/protocolStates";

const NOTHING: Together = { running: null, result: null };

export class TogetherState {
  private state = NOTHING;
  private readonly listeners = new Set<() => void>();

  get current(): Together {
    return this.state;
  }

  /** Calls `listener` after each change, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  set(state: Together): void {
    this.state = state;
    for (const listener of this.listeners) listener();
  }

  /** Forgets the result: its server has ended. */
  clear(): void {
    this.set(NOTHING);
  }
}
