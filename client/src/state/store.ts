// The last known state of all sessions, from which the views are drawn. Sends nothing to the server. Pure.

import { t } from "@vscode/l10n";
import { immutableJSONPatch } from "immutable-json-patch";
import type {
  AgentEvent,
  ApproveParams,
  AskParams,
  Continuation,
  Mode,
  OpenedSession,
  Outcome,
} from "../wire/protocol";
import type { Changed, Edits, Plan, SessionRow } from "../wire/protocolStates";
import { DecisionHistory } from "./decisions";
import {
  applyEvent,
  closeInterrupted,
  closeRun,
  endEntry,
  newSession,
  rewindEntries,
  replayed,
  type Change,
  type RunEnd,
  type Session,
} from "./session";
import { TogetherState } from "./together";
import { ToolServerLists } from "./toolServers";

export class Store {
  readonly decisions = new DecisionHistory();
  readonly toolServers = new ToolServerLists();
  readonly together = new TogetherState();
  private readonly byId = new Map<string, Session>();
  private readonly listeners = new Set<(change: Change, session: Session) => void>();
  private readonly eventListeners = new Set<(event: AgentEvent) => void>();
  /**
   * The id of the session that the views show. Null: none, and the next task begins a new session. Undefined: the first
   * session that the server reports becomes the active one, unless another window has it open.
   */
  private activeId: string | null | undefined;
  /**
   * The ids of placeholders for sessions that the server has not created yet, each with the value that `activeId` had
   * before.
   */
  private readonly starting = new Map<string, string | null | undefined>();
  private startCount = 0;
  /** The hosted agent that does the tasks of new sessions; empty: Fairlead's own. */
  hostedOfNew = "";

  /** Calls `listener` after each change, until the returned function is called. */
  onChange(listener: (change: Change, session: Session) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * Calls `listener` with each event, after the changes that the event causes, until the returned function is called.
   */
  onEvent(listener: (event: AgentEvent) => void): () => void {
    this.eventListeners.add(listener);
    return () => this.eventListeners.delete(listener);
  }

  /** The session that the views show, usually the one that the user ran or chose last; undefined if there is none. */
  get active(): Session | undefined {
    return typeof this.activeId === "string" ? this.byId.get(this.activeId) : undefined;
  }

  get sessions(): readonly Session[] {
    return [...this.byId.values()];
  }

  /** The sessions in the server's list, newest first. */
  get listed(): readonly Session[] {
    const time = ({ row }: Session): number => Date.parse(row?.updatedAt ?? "");
    return this.sessions.filter(({ row }) => row).sort((a, b) => time(b) - time(a));
  }

  get(id: string): Session | undefined {
    return this.byId.get(id);
  }

  /** The sessions with proposed changes, the active one first. */
  get reviewable(): readonly Session[] {
    return this.activeFirst((session) => (session.edits?.files.length ?? 0) > 0);
  }

  /** The session whose smallest set of changes the user can accept. */
  get withSmallestSet(): Session | undefined {
    return this.reviewable.find(({ edits }) => (edits?.smallest?.needed.length ?? 0) > 0);
  }

  /** The sessions that wait for an answer from the user, the active one first. */
  get awaitingAnswer(): readonly Session[] {
    return this.activeFirst(({ approvals, questions }) => approvals.length + questions.length > 0);
  }

  /** The sessions in which there is something to undo (`undoLabel`) or redo (`redoLabel`), the active one first. */
  sessionsWith(label: "undoLabel" | "redoLabel"): readonly Session[] {
    return this.activeFirst((session) => Boolean(session.edits?.[label]));
  }

  private activeFirst(isWanted: (session: Session) => boolean): readonly Session[] {
    const isActive = ({ id }: Session): number => Number(id === this.activeId);
    return this.sessions.filter(isWanted).sort((a, b) => isActive(b) - isActive(a));
  }

  /**
   * Makes a session the one that all views show. Returns false if it does not exist, because the user has deleted it.
   */
  show(id: string): boolean {
    const session = this.byId.get(id);
    if (!session) return false;
    this.activeId = id;
    this.emit("sessions", session);
    return true;
  }

  /** Shows no session, until the user starts or chooses one. */
  showNone(): void {
    const { active } = this;
    this.activeId = null;
    if (active) this.emit("sessions", active);
  }

  /**
   * Replaces the rows of all sessions with those in the server's list. A session that is not in the list remains,
   * without a row.
   */
  setRows(rows: readonly SessionRow[]): void {
    // beside another window on the same folder, the user chooses what this one shows
    const isAlone = !rows.some(({ openElsewhere }) => openElsewhere);
    const rowsById = new Map(rows.map((row) => [row.sessionId, row]));
    for (const id of new Set([...this.byId.keys(), ...rowsById.keys()])) {
      const row = rowsById.get(id);
      const session = this.getOrCreate(id, isAlone);
      if (JSON.stringify(row) === JSON.stringify(session.row)) continue;
      const wasElsewhere = session.row?.openElsewhere === true;
      session.row = row;
      if (row?.title) session.title = row.title;
      this.emit("list", session);
      if (wasElsewhere && row?.openElsewhere === false && this.activeId === undefined) this.show(id);
    }
  }

  /**
   * Adds what the server knows about a session whose events this window did not get: one of an earlier window, or a
   * fork. The transcript comes before the entries that are already there.
   */
  addTranscript(opened: OpenedSession): void {
    this.setPlan(opened.plan);
    this.setEdits(opened.edits);
    const session = this.getOrCreate(opened.sessionId);
    session.mode ??= opened.mode;
    session.hosted ??= opened.hosted;
    const { entries, usage } = replayed(opened);
    session.entries.unshift(...entries);
    session.usage ??= usage;
    this.emit("conversation", session);
  }

  /** Removes the prompt with this checkpoint and everything after it from the conversation. */
  rewind(id: string, checkpoint: number): void {
    const session = this.byId.get(id);
    if (!session) return;
    rewindEntries(session, checkpoint);
    this.emit("run", session);
  }

  /**
   * Removes a deleted session. If it was the active one, the newest of the other sessions becomes active, unless another
   * window has it open.
   */
  remove(id: string): void {
    const session = this.byId.get(id);
    if (!session) return;
    this.byId.delete(id);
    this.toolServers.remove(id);
    const isHere = ({ row }: Session): boolean => row?.openElsewhere !== true;
    if (this.activeId === id) this.activeId = (this.listed.find(isHere) ?? this.sessions.filter(isHere).at(-1))?.id;
    this.emit("sessions", session);
  }

  /**
   * Records that a run starts in a session, which may be new, and makes the session active. `begun` is the prompt, or
   * what the run continues. `mode` is null if the run continues one whose mode only the server knows.
   */
  startRun(id: string, begun: string | { continue: Continuation }, mode: Mode | null = "agent"): Session {
    const session = this.getOrCreate(id);
    if (typeof begun === "string") session.title ||= begun.split("\n", 1)[0] ?? begun;
    session.running = true;
    session.startedAt = Date.now();
    session.runsStarted += 1;
    session.pause = undefined;
    session.mode = mode;
    session.entries.push(
      typeof begun === "string"
        ? { kind: "prompt", text: begun, checkpoint: null }
        : { kind: "continued", what: begun.continue },
    );
    this.activeId = id;
    this.emit("sessions", session);
    return session;
  }

  /** The hosted agent of the shown session, or of a new one; empty: Fairlead's own. */
  get hosted(): string {
    return (this.active ? this.active.hosted : this.hostedOfNew) ?? "";
  }

  /** Sets the hosted agent that does the next task of a session; empty: Fairlead's own. */
  setHosted(id: string, hosted: string): void {
    const session = this.getOrCreate(id);
    session.hosted = hosted;
    this.emit("sessions", session);
  }

  /**
   * Shows a task in a placeholder before the server has created its session. Returns the placeholder's id, for
   * `endStart`.
   */
  showStarting(prompt: string, mode: Mode | null): string {
    const id = `starting-${++this.startCount}`;
    this.starting.set(id, this.activeId);
    this.byId.set(id, { ...newSession(id, true), hosted: this.hostedOfNew });
    this.startRun(id, prompt, mode);
    return id;
  }

  /**
   * Removes a placeholder. If it is active, makes the previously active session active again. Returns false if the
   * placeholder was already removed, because the user stopped the task.
   */
  endStart(id: string): boolean {
    const session = this.byId.get(id);
    if (!session) return false;
    this.byId.delete(id);
    if (this.activeId === id) this.activeId = this.starting.get(id);
    this.starting.delete(id);
    this.emit("sessions", session);
    return true;
  }

  /**
   * Shows the run as ended at once, because the user stopped it. Of its later events, only the final ones are shown.
   */
  stopRun(id: string): void {
    const session = this.byId.get(id);
    if (!session?.running) return;
    const end = closeRun(session, { stopReason: "cancelled", message: t("Stopped."), record: "" });
    session.stoppedRuns.set(session.runsStarted, end);
    this.emitRunEnd(session);
  }

  /**
   * Records that the session's run with this number has ended, because its request was answered or failed. If the user
   * had stopped the run, `result` replaces the end that was shown then.
   */
  endRun(id: string, run: number, result: RunEnd): void {
    const session = this.byId.get(id);
    if (!session) return;
    session.runsEnded = Math.max(session.runsEnded, run);
    const end = session.stoppedRuns.get(run);
    if (end) {
      session.stoppedRuns.delete(run);
      session.entries[session.entries.lastIndexOf(end)] = endEntry(result);
      this.emit("conversation", session);
    } else if (session.running && run === session.runsStarted) {
      closeRun(session, result);
      this.emitRunEnd(session);
    }
  }

  /**
   * Ends all runs and removes all proposals, because the server has ended. Plans and conversations stay readable until
   * the next server restores the sessions.
   */
  markServerGone(): void {
    this.toolServers.clear();
    this.together.clear();
    for (const session of this.sessions) {
      session.edits = undefined;
      session.commands = [];
      session.row = undefined;
      if (session.running) {
        closeInterrupted(session);
        this.emitRunEnd(session);
      }
      session.runsEnded = session.runsStarted;
      session.stoppedRuns.clear();
      session.approvals = [];
      this.emit("edits", session);
    }
  }

  /** Replaces a session's plan, unless the given one is older. */
  setPlan(plan: Plan): void {
    const session = this.getOrCreate(plan.sessionId);
    if (session.plan && plan.version < session.plan.version) return;
    session.plan = plan;
    this.emit("plan", session);
  }

  /**
   * Applies a difference to a session's plan. Returns false if the store does not have the version that the difference
   * starts from.
   */
  changePlan({ sessionId, since, patch }: Changed): boolean {
    const plan = this.byId.get(sessionId)?.plan;
    if (plan?.version !== since) return false;
    this.setPlan(immutableJSONPatch<Plan, Plan>(plan, [...patch]));
    return true;
  }

  /** Applies a difference to a session's proposed files. Returns false under the same condition as `changePlan`. */
  changeEdits({ sessionId, since, patch }: Changed): boolean {
    const edits = this.byId.get(sessionId)?.edits;
    if (edits?.version !== since) return false;
    this.setEdits(immutableJSONPatch<Edits, Edits>(edits, [...patch]));
    return true;
  }

  /** Replaces a session's proposed files, unless the given ones are older. */
  setEdits(edits: Edits): void {
    const session = this.getOrCreate(edits.sessionId);
    if (session.edits && edits.version < session.edits.version) return;
    session.edits = edits;
    for (const uri of session.refusals.keys()) {
      if (!edits.files.some((file) => file.uri === uri)) session.refusals.delete(uri);
    }
    this.emit("edits", session);
  }

  /** Records which files of an accept could not be changed, and why. */
  setRefusals(sessionId: string, outcomes: readonly Outcome[]): void {
    const session = this.byId.get(sessionId);
    if (!session) return;
    const before = JSON.stringify([...session.refusals]);
    for (const { uri } of outcomes) session.refusals.delete(uri);
    for (const { uri, outcome, message } of outcomes) if (outcome === "failed") session.refusals.set(uri, message);
    if (JSON.stringify([...session.refusals]) !== before) this.emit("edits", session);
  }

  addApproval(approval: ApproveParams): void {
    const session = this.getOrCreate(approval.sessionId);
    session.approvals.push(approval);
    this.emit("approvals", session);
  }

  removeApproval(approval: ApproveParams): void {
    const session = this.byId.get(approval.sessionId);
    if (!session) return;
    session.approvals = session.approvals.filter((open) => open !== approval);
    this.emit("approvals", session);
  }

  addQuestion(question: AskParams): void {
    const session = this.getOrCreate(question.sessionId);
    session.questions.push(question);
    this.emit("approvals", session);
  }

  removeQuestion(question: AskParams): void {
    const session = this.byId.get(question.sessionId);
    if (!session) return;
    session.questions = session.questions.filter((open) => open !== question);
    this.emit("approvals", session);
  }

  /** Applies an event to its session, then passes it to the listeners of `onEvent`, even if it changed nothing. */
  addEvent(event: AgentEvent): void {
    const session = this.getOrCreate(event.sessionId);
    const change = applyEvent(session, event);
    if (change) this.emit(change, session);
    if (event.kind === "run_finished") session.runsEnded = Math.min(session.runsEnded + 1, session.runsStarted);
    for (const listener of this.eventListeners) listener(event);
  }

  /** `canBeActive`: whether a new session becomes the active one if there is none. */
  private getOrCreate(id: string, canBeActive = true): Session {
    let session = this.byId.get(id);
    if (!session) {
      session = newSession(id);
      this.byId.set(id, session);
      if (this.activeId === undefined && canBeActive) this.activeId = id;
    }
    return session;
  }

  private emitRunEnd(session: Session): void {
    this.emit("approvals", session);
    this.emit("run", session);
  }

  private emit(change: Change, session: Session): void {
    for (const listener of this.listeners) listener(change, session);
  }
}
