// Records which entries a webview has, and finds those that it needs. Does not use VS Code's API.

import { entryView } from "./entryViews";
import type { EntryView, Update } from "./messages";
import type { Plan } from "../../wire/protocolStates";
import type { Entry, Session } from "../../state/session";

/** How many of the newest entries a webview gets at first. */
export const PAGE_SIZE = 200;
/** How many entries it gets before one that the user wants to see. */
const BEFORE_WANTED = 30;

const NONE: readonly Entry[] = [];

export class EntryFeed {
  private sessionId: string | undefined;
  /**
   * The session's first entry at the last call of `next`. It changes when a transcript is put before the entries, and
   * when the first prompt gets its checkpoint or the names of its pictures.
   */
  private head: Entry | undefined;
  private entries: readonly Entry[] | undefined;
  private readonly sent = new Map<number, Entry>();
  private plan: Plan | undefined;
  private wasRunning = false;
  private first = 0;

  /** `relative` converts a URI to a path for display. */
  constructor(private readonly relative: (uri: string) => string) {}

  /** Forgets what the webview has, because its page is loaded again. */
  reset(): void {
    this.sessionId = undefined;
  }

  /**
   * From now on, `next` returns entries from this index on: the webview wants earlier ones, or has removed those before
   * the index. Ignores an index beyond the end, because it belongs to another session.
   */
  showFrom(first: number): void {
    if (first > (this.entries?.length ?? 0)) return;
    this.first = first;
    for (const index of this.sent.keys()) if (index < first) this.sent.delete(index);
  }

  /** From now on, `next` also returns this entry and some before it, because the user wants to see it. */
  include(index: number): void {
    if (index < this.first) this.showFrom(Math.max(0, index - BEFORE_WANTED));
  }

  /**
   * Returns what the webview needs to show the session's entries, and records it as sent. Undefined if the webview has
   * everything.
   */
  next(session: Session | undefined): Extract<Update, { kind: "entries" }> | undefined {
    const [sessionId, entries] = [session?.id ?? "", session?.entries ?? NONE];
    // a rewind replaces the array
    const isNew = sessionId !== this.sessionId || entries !== this.entries || entries[0] !== this.head;
    if (isNew) {
      this.sent.clear();
      this.first = Math.max(0, entries.length - PAGE_SIZE);
    }
    const changed: [number, EntryView][] = [];
    const stepsChanged = this.plan !== session?.plan || this.wasRunning !== session?.running;
    for (let index = this.first; session && index < entries.length; index++) {
      const entry = entries[index];
      if (!entry || (entry === this.sent.get(index) && !(stepsChanged && entry.kind === "step"))) continue;
      this.sent.set(index, entry);
      changed.push([index, entryView(entry, session, this.relative)]);
    }
    this.sessionId = sessionId;
    this.entries = entries;
    this.head = entries[0];
    this.plan = session?.plan;
    this.wasRunning = session?.running ?? false;
    if (!isNew && changed.length === 0) return undefined;
    return { kind: "entries", isNew, first: this.first, changed };
  }
}
