// The last snapshot of everything the server told, by session. Views draw from it; nothing here knows VS Code.

import type { AgentEvent, ApproveParams, AskParams, Edits, Mode, Plan, RunResult, Usage } from "./protocol";

/** One thing that happened in a session, as the conversation shows it. */
export type Entry =
  | { kind: "prompt"; text: string; model: string }
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
    }
  | { kind: "note"; text: string }
  | { kind: "end"; stopReason: string; message: string; record: string };

export interface Session {
  readonly id: string;
  title: string;
  model: string;
  running: boolean;
  plan: Plan | undefined;
  edits: Edits | undefined;
  usage: Usage | undefined;
  entries: Entry[];
  approvals: ApproveParams[];
  questions: AskParams[];
  /** The plan was asked for alone, and nobody told the agent to go on with it yet. */
  planOnly: boolean;
}

export type Change = "plan" | "edits" | "conversation" | "run" | "approvals" | "sessions";

/** A command's output kept for the conversation, in characters; the server bounds what it sends, this bounds memory. */
const OUTPUT_LIMIT = 20_000;

export class Store {
  private readonly byId = new Map<string, Session>();
  private readonly listeners = new Set<(change: Change, session: Session) => void>();
  private activeId: string | undefined;
  private decidedId: string | undefined;

  /** Calls back on each change, until the returned function is called. */
  onChange(listener: (change: Change, session: Session) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The session that the person sees: the one that was run last. */
  get active(): Session | undefined {
    return this.activeId === undefined ? undefined : this.byId.get(this.activeId);
  }

  get sessions(): readonly Session[] {
    return [...this.byId.values()];
  }

  get(id: string): Session | undefined {
    return this.byId.get(id);
  }

  /** Sessions with something to review, the active one first. */
  get reviewable(): readonly Session[] {
    const open = this.sessions.filter((session) => (session.edits?.files.length ?? 0) > 0);
    return open.sort((a, b) => Number(b.id === this.activeId) - Number(a.id === this.activeId));
  }

  /** The person decided on something in this session. */
  decided(id: string): void {
    this.decidedId = id;
  }

  /** The session in which an undo or a redo would do something, the one that was decided on last before others. */
  revisable(label: "undoLabel" | "redoLabel"): Session | undefined {
    const likely = [this.decidedId, this.activeId].map((id) => (id === undefined ? undefined : this.byId.get(id)));
    return [...likely, ...this.sessions].find((session) => session?.edits?.[label]);
  }

  /** A run begins in a session, new or known. */
  begin(id: string, prompt: string, mode: Mode = "agent"): Session {
    const session = this.session(id);
    session.title ||= prompt.split("\n", 1)[0] ?? prompt;
    session.running = true;
    // a question about the plan leaves it as it is
    if (mode !== "ask") session.planOnly = mode === "plan";
    session.entries.push({ kind: "prompt", text: prompt, model: "" });
    this.activeId = id;
    this.emit("sessions", session);
    return session;
  }

  /** The run's answer came. */
  end(id: string, { stopReason, message, record }: Pick<RunResult, "stopReason" | "message" | "record">): void {
    const session = this.session(id);
    session.running = false;
    session.approvals = [];
    session.questions = [];
    session.entries.push({ kind: "end", stopReason, message, record });
    this.emit("approvals", session);
    this.emit("run", session);
  }

  /** The server is gone and with it all that it held; what the conversation said stays readable. */
  lost(): void {
    for (const session of this.sessions) {
      const running = session.running;
      session.plan = running ? session.plan : undefined;
      session.edits = undefined;
      if (running) this.end(session.id, { stopReason: "lost", message: "The agent's server stopped; the run was lost.", record: "" });
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

  ask(approval: ApproveParams): void {
    const session = this.session(approval.sessionId);
    session.approvals.push(approval);
    this.emit("approvals", session);
  }

  answered(approval: ApproveParams): void {
    const session = this.session(approval.sessionId);
    session.approvals = session.approvals.filter((open) => open !== approval);
    this.emit("approvals", session);
  }

  question(question: AskParams): void {
    const session = this.session(question.sessionId);
    session.questions.push(question);
    this.emit("approvals", session);
  }

  /** A question was answered, or withdrawn. */
  settled(question: AskParams): void {
    const session = this.session(question.sessionId);
    session.questions = session.questions.filter((open) => open !== question);
    this.emit("approvals", session);
  }

  addEvent(event: AgentEvent): void {
    const session = this.session(event.sessionId);
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
        });
        break;
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
      case "feedback":
        session.entries.push({ kind: "note", text: "Told what you decided and changed." });
        break;
      case "retry":
        session.entries.push({ kind: "note", text: `${event.reason} Next try in ${(event.delayMs / 1000).toFixed(1)} s.` });
        break;
      case "usage":
        session.usage = event;
        break;
      case "round_started":
      case "run_finished":
        break;
    }
    this.emit(event.kind === "run_started" ? "run" : "conversation", session);
  }

  private session(id: string): Session {
    let session = this.byId.get(id);
    if (!session) {
      session = {
        id,
        title: "",
        model: "",
        running: false,
        plan: undefined,
        edits: undefined,
        usage: undefined,
        entries: [],
        approvals: [],
        questions: [],
        planOnly: false,
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

/** How much in a session waits for the person's word. */
export function waiting(session: Session | undefined): number {
  return session ? session.approvals.length + session.questions.length : 0;
}

/** Whether a plan is there that the agent may be told to do. */
export function readyToGo(session: Session | undefined): boolean {
  const { plan, planOnly, running } = session ?? {};
  return planOnly === true && !running && plan !== undefined && plan.total > plan.completed;
}

function findTool(session: Session, id: string): Extract<Entry, { kind: "tool" }> | undefined {
  const entry = session.entries.findLast((other) => other.kind === "tool" && other.id === id);
  return entry?.kind === "tool" ? entry : undefined;
}

/** Calls `draw` soon, once for all calls in between: a busy server must not make a busy screen. */
export function coalesced(draw: () => void, milliseconds = 50): { schedule: () => void; dispose: () => void } {
  let timer: NodeJS.Timeout | undefined;
  return {
    schedule: () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        draw();
      }, milliseconds);
    },
    dispose: () => {
      clearTimeout(timer);
    },
  };
}
