// The tool servers as the server last listed them: those of each session, and those that a new session would have. Pure.

import type { ToolServer, ToolServers } from "../wire/protocolStates";

export class ToolServerLists {
  private resting: readonly ToolServer[] | undefined;
  private readonly bySession = new Map<string, readonly ToolServer[]>();
  private readonly listeners = new Set<() => void>();

  /** Calls `listener` after each change, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  set({ sessionId, servers }: ToolServers): void {
    if (sessionId === null) this.resting = servers;
    else this.bySession.set(sessionId, servers);
    this.emit();
  }

  /**
   * The servers of a session, or those that a new one would have. Until a session's list is known, its servers are those
   * of a new one. Undefined: no list is known.
   */
  of(sessionId: string | undefined): readonly ToolServer[] | undefined {
    return (sessionId === undefined ? undefined : this.bySession.get(sessionId)) ?? this.resting;
  }

  /** Forgets the servers of a deleted session. */
  remove(sessionId: string): void {
    this.bySession.delete(sessionId);
  }

  /** Forgets the servers of all sessions: they have ended. */
  clear(): void {
    this.bySession.clear();
    this.emit();
  }

  private emit(): void {
    for (const listener of this.listeners) listener();
  }
}
