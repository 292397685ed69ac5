// The last snapshot of everything the server told, by session. Views draw from it; nothing here knows VS Code.

import { failureOf } from "./ui/commandOutput";
import { DecisionHistory } from "./review/decisions";
import type {
  AgentEvent,
  ApproveParams,
  AskParams,
  CommandStarted,
  Edits,
  Mode,
  OpenedSession,
  Plan,
  RunResult,
  SessionRow,
  UsageEvent,
} from "./protocol";

/** One thing that happened in a session, as the conversation shows it. */
export type Entry =
  | { kind: "prompt"; text: string; model: string }
  | { kind: "said"; text: string }
  | { kind: "text"; text: string }
  | { kind: "thinking"; text: string }
  | {
      kind: "tool";
      id: string;
      name: string;
      title: string;
      locations: readonly { uri: string; line: number | null }[];
      output: string;
      outcome: "running" | "ok" | "error";
      result: string;
      /** How its command ended, where that was no success: `exit code 1`. */
      failure: string;
    }
  | { kind: "note"; text: string }
  | { kind: "end"; stopReason: string; message: string; record: string };

export interface Session {
  readonly id: string;
  title: string;
  model: string;
  running: boolean;
  /** How it stands in the server's list; undefined where it is not there, as when its server is gone. */
  row: SessionRow | undefined;
  plan: Plan | undefined;
  edits: Edits | undefined;
  usage: UsageEvent | undefined;
  /** The request that failed and is sent again: when, in milliseconds since the epoch, and why it failed. */
  retry: { readonly at: number; readonly reason: string } | undefined;
  entries: Entry[];
  approvals: ApproveParams[];
  questions: AskParams[];
  /** The commands that run now. */
  commands: CommandStarted[];
  /** Why the last run paused; undefined where it did not, and once the session goes on. */
  pause: { readonly reason: string } | undefined;
  /** The plan was asked for alone, and nobody told the agent to go on with it yet. */
  planOnly: boolean;
  /** How many runs were begun here, and of how many of them the server has said that they are over. */
  runsStarted: number;
  runsEnded: number;
  /** Runs that the person stopped, by their numbers from 1, and how their ends are shown; the server may still be at it. */
  stoppedRuns: Map<number, EndEntry>;
}

type EndEntry = Extract<Entry, { kind: "end" }>;

export type Change = "plan" | "edits" | "conversation" | "run" | "approvals" | "sessions" | "list";

/** What other views than the conversation draw of an event. */
const CHANGES: Partial<Record<AgentEvent["kind"], Change>> = {
  run_started: "run",
  command: "run",
  command_ended: "run",
  retry: "run",
  usage: "run",
};

/** Events that end what is shown as going on, and what it cost: they count after a stop too. */
const FINAL: readonly AgentEvent["kind"][] = ["command_ended", "tool_finished", "usage", "run_finished"];

/** Stop reasons of a run that goes on when the user says so. */
const PAUSES = ["budget", "max_turn_requests", "loop"];

/** A command's output kept for the conversation, in characters; the server bounds what it sends, this bounds memory. */
const OUTPUT_LIMIT = 20_000;

export class Store {
  readonly decisions = new DecisionHistory();
  private readonly byId = new Map<string, Session>();
  private readonly listeners = new Set<(change: Change, session: Session) => void>();
  private readonly eventListeners = new Set<(event: AgentEvent) => void>();
  private activeId: string | undefined;

  /** Calls back on each change, until the returned function is called. */
  onChange(listener: (change: Change, session: Session) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Calls back with each event, behind the changes that it makes, until the returned function is called. */
  onEvent(hearer: (event: AgentEvent) => void): () => void {
    this.eventListeners.add(hearer);
    return () => this.eventListeners.delete(hearer);
  }

  /** The session that the person sees: the one that they ran last, or chose. */
  get active(): Session | undefined {
    return this.activeId === undefined ? undefined : this.byId.get(this.activeId);
  }

  get sessions(): readonly Session[] {
    return [...this.byId.values()];
  }

  /** The sessions that the server has, the newest first. */
  get listed(): readonly Session[] {
    const time = ({ row }: Session): number => Date.parse(row?.updatedAt ?? "");
    return this.sessions.filter(({ row }) => row).sort((a, b) => time(b) - time(a));
  }

  get(id: string): Session | undefined {
    return this.byId.get(id);
  }

  /** Sessions with something to review, the active one first. */
  get reviewable(): readonly Session[] {
    return this.activeFirst((session) => (session.edits?.files.length ?? 0) > 0);
  }

  /** Sessions that wait for an answer of the user, the active one first. */
  get awaitingAnswer(): readonly Session[] {
    return this.activeFirst(({ approvals, questions }) => approvals.length + questions.length > 0);
  }

  private activeFirst(wanted: (session: Session) => boolean): readonly Session[] {
    return this.sessions.filter(wanted).sort((a, b) => Number(b.id === this.activeId) - Number(a.id === this.activeId));
  }

  /** All views show this session from now on. */
  show(id: string): void {
    this.activeId = id;
    this.emit("sessions", this.session(id));
  }

  /** The server's list, as a whole. */
  setRows(rows: readonly SessionRow[]): void {
    const byId = new Map(rows.map((row) => [row.sessionId, row]));
    for (const id of new Set([...this.byId.keys(), ...byId.keys()])) {
      const [session, row] = [this.session(id), byId.get(id)];
      if (JSON.stringify(row) === JSON.stringify(session.row)) continue;
      session.row = row;
      session.title ||= row?.title ?? "";
      this.emit("list", session);
    }
  }

  /** What the server knows of a session whose conversation this window has not seen. */
  addTranscript({ sessionId, plan, edits, transcript }: OpenedSession): void {
    this.setPlan(plan);
    this.setEdits(edits);
    const session = this.session(sessionId);
    session.entries.unshift(...transcript.map(entryOf));
    this.emit("conversation", session);
  }

  /** The person deleted it; the newest of the others is shown in its stead. */
  remove(id: string): void {
    const session = this.byId.get(id);
    if (!session) return;
    this.byId.delete(id);
    if (this.activeId === id) this.activeId = (this.listed[0] ?? this.sessions.at(-1))?.id;
    this.emit("sessions", session);
  }

  /** The sessions in which an undo or a redo would do something, the active one first. */
  revisable(label: "undoLabel" | "redoLabel"): readonly Session[] {
    return this.activeFirst((session) => Boolean(session.edits?.[label]));
  }

  /** A run begins in a session, new or known. */
  startRun(id: string, prompt: string, mode: Mode = "agent"): Session {
    const session = this.session(id);
    session.title ||= prompt.split("\n", 1)[0] ?? prompt;
    session.running = true;
    session.runsStarted += 1;
    session.pause = undefined;
    // a question about the plan leaves it as it is
    if (mode !== "ask") session.planOnly = mode === "plan";
    session.entries.push({ kind: "prompt", text: prompt, model: "" });
    this.activeId = id;
    this.emit("sessions", session);
    return session;
  }

  /** The person stopped the run: it is over at once, and what still comes of it is not shown. */
  stopRun(id: string): void {
    const session = this.session(id);
    if (session.running)
      session.stoppedRuns.set(
        session.runsStarted,
        this.close(session, { stopReason: "cancelled", message: "Stopped.", record: "" }),
      );
  }

  /** The answer to a run came, the one with this number. */
  endRun(
    id: string,
    run: number,
    { stopReason, message, record }: Pick<RunResult, "stopReason" | "message" | "record">,
  ): void {
    const session = this.session(id);
    session.runsEnded = Math.max(session.runsEnded, run);
    const shown = session.stoppedRuns.get(run);
    if (shown) {
      session.stoppedRuns.delete(run);
      Object.assign(shown, { stopReason, message, record });
      this.emit("conversation", session);
    } else if (session.running && run === session.runsStarted) this.close(session, { stopReason, message, record });
  }

  private close(session: Session, how: Pick<EndEntry, "stopReason" | "message" | "record">): EndEntry {
    const end: EndEntry = { kind: "end", ...how };
    session.running = false;
    session.retry = undefined;
    session.pause = PAUSES.includes(how.stopReason) ? { reason: how.message } : undefined;
    // a protected file waits for the user's own accept, not for the run
    session.approvals = session.approvals.filter(({ toolCallId }) => toolCallId === null);
    session.questions = [];
    session.entries.push(end);
    this.emit("approvals", session);
    this.emit("run", session);
    return end;
  }

  /** The server is gone. The next one brings back what it kept; until then plan and conversation stay readable. */
  markServerGone(): void {
    for (const session of this.sessions) {
      session.edits = undefined;
      session.commands = [];
      session.row = undefined;
      if (session.running)
        this.close(session, {
          stopReason: "lost",
          message: "The agent's server stopped; the run was interrupted.",
          record: "",
        });
      session.runsEnded = session.runsStarted;
      session.stoppedRuns.clear();
      session.approvals = [];
      this.emit("edits", session);
    }
  }

  setPlan(plan: Plan): void {
    const session = this.session(plan.sessionId);
    if (session.plan && plan.version < session.plan.version) return;
    session.plan = plan;
    this.emit("plan", session);
  }

  setEdits(edits: Edits): void {
    const session = this.session(edits.sessionId);
    if (session.edits && edits.version < session.edits.version) return;
    session.edits = edits;
    this.emit("edits", session);
  }

  addApproval(approval: ApproveParams): void {
    const session = this.session(approval.sessionId);
    session.approvals.push(approval);
    this.emit("approvals", session);
  }

  removeApproval(approval: ApproveParams): void {
    const session = this.session(approval.sessionId);
    session.approvals = session.approvals.filter((open) => open !== approval);
    this.emit("approvals", session);
  }

  addQuestion(question: AskParams): void {
    const session = this.session(question.sessionId);
    session.questions.push(question);
    this.emit("approvals", session);
  }

  /** A question was answered, or withdrawn. */
  removeQuestion(question: AskParams): void {
    const session = this.session(question.sessionId);
    session.questions = session.questions.filter((open) => open !== question);
    this.emit("approvals", session);
  }

  addEvent(event: AgentEvent): void {
    const session = this.session(event.sessionId);
    if (!isFenced(session) || FINAL.includes(event.kind)) this.note(session, event);
    if (event.kind === "run_finished") session.runsEnded = Math.min(session.runsEnded + 1, session.runsStarted);
    for (const hearer of this.eventListeners) hearer(event);
  }

  private note(session: Session, event: AgentEvent): void {
    session.retry = undefined;
    switch (event.kind) {
      case "run_started": {
        session.model = event.model;
        const prompt = session.entries.findLast((entry) => entry.kind === "prompt");
        if (prompt) prompt.model = event.model;
        break;
      }
      case "text":
      case "thinking": {
        const last = session.entries.at(-1);
        if (last?.kind === event.kind) last.text += event.text;
        else session.entries.push({ kind: event.kind, text: event.text });
        break;
      }
      case "tool_started":
        session.entries.push({
          kind: "tool",
          id: event.toolCallId,
          name: event.name,
          title: event.title,
          locations: event.locations,
          output: "",
          outcome: "running",
          result: "",
          failure: "",
        });
        break;
      case "command":
        session.commands.push(event);
        break;
      case "command_ended": {
        session.commands = session.commands.filter(({ toolCallId }) => toolCallId !== event.toolCallId);
        const tool = findTool(session, event.toolCallId);
        if (tool) tool.failure = failureOf(event);
        break;
      }
      case "tool_output": {
        const tool = findTool(session, event.toolCallId);
        if (tool && tool.output.length < OUTPUT_LIMIT) tool.output += event.text;
        break;
      }
      case "tool_finished": {
        const tool = findTool(session, event.toolCallId);
        if (tool) {
          tool.outcome = event.isError ? "error" : "ok";
          tool.result = event.text;
        }
        break;
      }
      case "reminder":
        session.entries.push({ kind: "note", text: "Reminded to update the plan." });
        break;
      case "steered":
        session.entries.push({ kind: "said", text: event.text });
        break;
      case "feedback":
        session.entries.push({
          kind: "note",
          text: event.text.startsWith("<user_message>") ? "Heard what you said." : "Told what you decided and changed.",
        });
        break;
      case "retry":
        session.entries.push({
          kind: "note",
          text: `${event.reason} Next try in ${(event.delayMs / 1000).toFixed(1)} s.`,
        });
        session.retry = { at: Date.now() + event.delayMs, reason: event.reason };
        break;
      case "usage":
        session.usage = event;
        break;
      case "room_made":
        session.entries.push({ kind: "note", text: event.text });
        break;
      case "round_started":
      case "run_finished":
        break;
    }
    this.emit(CHANGES[event.kind] ?? "conversation", session);
  }

  private session(id: string): Session {
    let session = this.byId.get(id);
    if (!session) {
      session = {
        id,
        title: "",
        model: "",
        running: false,
        row: undefined,
        plan: undefined,
        edits: undefined,
        usage: undefined,
        retry: undefined,
        pause: undefined,
        entries: [],
        approvals: [],
        questions: [],
        commands: [],
        planOnly: false,
        runsStarted: 0,
        runsEnded: 0,
        stoppedRuns: new Map(),
      };
      this.byId.set(id, session);
      this.activeId ??= id; // one that the server brought back
    }
    return session;
  }

  private emit(change: Change, session: Session): void {
    for (const listener of this.listeners) listener(change, session);
  }
}

/** Whether what the server tells is of a run that the person stopped. */
function isFenced({ stoppedRuns: stopped, runsEnded: over }: Session): boolean {
  return [...stopped.keys()].some((run) => run > over);
}

function entryOf({ role, text, failed }: OpenedSession["transcript"][number]): Entry {
  switch (role) {
    case "user":
      return { kind: "prompt", text, model: "" };
    case "assistant":
      return { kind: "text", text };
    case "tool":
      return {
        kind: "tool",
        id: "",
        name: "",
        title: text,
        locations: [],
        output: "",
        outcome: failed ? "error" : "ok",
        result: "",
        failure: "",
      };
  }
}

function findTool(session: Session, id: string): Extract<Entry, { kind: "tool" }> | undefined {
  const entry = session.entries.findLast((other) => other.kind === "tool" && other.id === id);
  return entry?.kind === "tool" ? entry : undefined;
}
