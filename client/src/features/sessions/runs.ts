// Starts runs in a new or an existing session, stops them, and reports how they end.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { oneOrMany } from "../../ui/format";
import type { ModelAccess } from "../../server/modelAccess";
import type { Offers } from "../../context/offers";
import { contextItems, selectedTextItem } from "../../context/contextItems";
import { editorContext, isEditorContextOn, type Omission } from "../../context/editorContext";
import { hostedFor, modeParams, type TaskMode } from "../../state/taskMode";
import { method, type ContextItem, type Continuation, type Mode, type RunResult } from "../../wire/protocol";
import type { ServerOffer } from "../../wire/protocolStates";
import { workspacePath } from "../../ui/folders";
import type { Prompts } from "./prompt";
import type { ChosenPrompt } from "../../context/serverPrompts";
import { actionLabel, errorActions, remedy, type ErrorAction } from "../../server/errorActions";
import type { ErrorHelp } from "../../server/errorHelp";
import { messageOf, NotStarted, ServerGone } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import { configuredEndpoint, takesKey } from "../../server/settings";
import { recordText } from "../../state/serverTexts";
import type { Session } from "../../state/session";
import type { Store } from "../../state/store";
import { sessionName } from "../../ui/sessionTexts";
import { earlyEnd, isReadyToGo, lastingFailure, pauseReason } from "../../state/waiting";
import { plainSummary } from "../../ui/text";
import { showError, showInformation } from "../../ui/show";

/** A task with a prompt. */
interface PromptTask {
  readonly prompt: string;
  /** The files, lines and other items that the task is about, in addition to those that its prompt mentions. */
  readonly context?: readonly ContextItem[];
  /**
   * What the user removed from the context; may be empty. Given only for a task from the conversation. The conversation
   * then keeps the focus.
   */
  readonly omitted?: readonly Omission[];
  /** The prompt of a tool server that the task begins with. */
  readonly chosen?: ChosenPrompt | undefined;
}

type Task = PromptTask | { readonly continue: Continuation };

const CREATE_RULES =
  "Write AGENTS.md in the workspace's root, for coding agents that work here. If there is one, correct it. Say in a sentence what the " +
  "project is; then the commands to set up, build, test and lint, taken from the project's files; where things are; and the conventions " +
  "that its code follows. Include only what an agent cannot see at a glance, in at most 60 lines.";

const CREATE_SKILL =
  "Write a skill from what we did in this session, so that an agent can do work of this kind again: .agents/skills/NAME/SKILL.md, with a " +
  "NAME of a-z, 0-9 and -. It begins with YAML between two lines of ---: name (that NAME) and description (in one or two sentences, what " +
  "it is for and when to use it). Then the steps that worked, with the exact commands, and the mistakes to avoid. Leave out what belongs " +
  "only to this task. At most 100 lines; put a script that it needs into scripts/ beside it.";

/** How many of the actions after an error are in the message. The conversation has all. */
const MOST_ACTIONS = 3;

export class Runs {
  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    private readonly prompts: Prompts,
    private readonly access: ModelAccess,
    private readonly errorHelp: ErrorHelp,
    /** Whether the user sees the session's conversation, so that no message is needed. */
    private readonly isSeen: (sessionId: string) => boolean,
    private readonly serverOffers: Offers<ServerOffer>,
  ) {}

  /** Runs a task in a new session. Asks for the task if none is given. */
  async runTask(given?: string): Promise<void> {
    if (!canRunHere()) return;
    const prompt = given ?? (await this.prompts.ask(t("Agent: Run Task")));
    if (prompt !== undefined) await this.run(undefined, { prompt });
  }

  /**
   * Runs a task from the conversation, in the given session or in a new one. `chosen`: as in `PromptTask`. Returns false if it did not start, else
   * true when it has ended.
   */
  send(
    sessionId: string | undefined,
    prompt: string,
    mode: TaskMode,
    omitted: readonly Omission[],
    context: readonly ContextItem[],
    chosen: ChosenPrompt | undefined,
  ): Promise<boolean> {
    return this.run(sessionId, { prompt, omitted, context, chosen }, mode);
  }

  /**
   * Runs a task about files, or lines in them, in a new session. If only a title is given, asks for the task in a box
   * with this title.
   */
  async runOn(
    context: readonly ContextItem[],
    task: { prompt: string } | { title: string },
    mode?: Mode,
  ): Promise<void> {
    if (!canRunHere()) return;
    const isTyped = "title" in task;
    const prompt = isTyped ? await this.prompts.ask(task.title) : task.prompt;
    if (prompt !== undefined) await this.run(undefined, { prompt, context }, mode, isTyped);
  }

  /**
   * Asks for a task about these files and folders, and runs it in a new session. Leaves out those that are outside of
   * the workspace, and does nothing if none is left.
   */
  async runOnFiles(uris: readonly vscode.Uri[]): Promise<void> {
    const [first, ...others] = uris.filter((uri) => vscode.workspace.getWorkspaceFolder(uri));
    if (!first) return;
    const what = others.length === 0 ? workspacePath(first) : t("{0} files", others.length + 1);
    const context = [first, ...others].map((uri): ContextItem => ({ kind: "file", uri: uri.toString() }));
    await this.runOn(context, { title: t("Agent: Run Task on {0}", what) });
  }

  /** Runs a task in a new session that proposes a file with the project's rules for agents. */
  createRules(): Promise<void> {
    return this.runOn([], { prompt: CREATE_RULES });
  }

  /** Runs a task in the active session that proposes a skill from what the session did. */
  async createSkill(): Promise<void> {
    const session = this.store.active;
    if (!session || session.isStarting) {
      void showInformation(t("There is no session yet. Run a task first."));
      return;
    }
    await this.run(session.id, { prompt: CREATE_SKILL }, "agent");
  }

  /** Asks for a task and lets the agent only plan it, in a new session. */
  async planFirst(): Promise<void> {
    if (!canRunHere()) return;
    const prompt = await this.prompts.ask(t("Agent: Run Task (Plan First)"));
    if (prompt !== undefined) await this.run(undefined, { prompt }, "plan");
  }

  /** Approves the plan of a session, by default the active one, and starts the work. */
  async go(sessionId = this.store.active?.id): Promise<void> {
    const session = sessionId === undefined ? undefined : this.store.get(sessionId);
    if (session && isReadyToGo(session)) await this.run(session.id, { continue: "plan" });
    else void showInformation(t("No plan is waiting for approval."));
  }

  /** Continues the paused run of a session, by default the active one, in the mode that it had. */
  async continueRun(sessionId = this.store.active?.id): Promise<void> {
    const session = sessionId === undefined ? undefined : this.store.get(sessionId);
    if (session && pauseReason(session) !== undefined) await this.run(session.id, { continue: "paused" }, session.mode);
    else void showInformation(t("No run is paused."));
  }

  /** Continues a session's run that failed or was stopped, in the mode that it had. */
  async retry(sessionId: string): Promise<void> {
    const session = this.store.get(sessionId);
    if (session && !warnIfRunning(session)) await this.run(sessionId, { continue: "paused" }, session.mode);
  }

  /** Continues a session whose run failed, or waits to send its request again, after what helps against the cause. */
  async retryFailed(sessionId: string): Promise<void> {
    const session = this.store.get(sessionId);
    if (!session) return;
    const usesKey = takesKey(session.row?.model.endpoint);
    const failure = lastingFailure(session);
    const help = failure ? errorActions(failure, usesKey)[0] : remedy(earlyEnd(session)?.error ?? null, usesKey);
    await (help ? this.help(sessionId, help) : this.retry(sessionId));
  }

  /**
   * Does something about the cause of a session's failed run, or of one that waits to send its request again. Then
   * continues the run if that may work now.
   */
  async help(sessionId: string, action: ErrorAction): Promise<void> {
    const session = this.store.get(sessionId);
    if (!session || (!session.retry && warnIfRunning(session))) return;
    const model = session.row?.model ?? { endpoint: configuredEndpoint(), model: "", effort: "" };
    try {
      if (!(await this.errorHelp.perform(action, model, sessionId))) return;
    } catch (error) {
      await this.showFailure(error);
      return;
    }
    // it may have been answered in the meantime
    if (session.running && !session.retry) return;
    if (session.running) await this.stop(sessionId);
    await this.retry(sessionId);
  }

  /** Asks for a question and sends it in the active session or a new one. The agent answers but changes nothing. */
  async sendQuestion(): Promise<void> {
    if (!canRunHere()) return;
    const session = this.store.active;
    if (session && warnIfRunning(session)) return;
    const prompt = await this.prompts.ask(t("Agent: Send Question"), t("What do you want to know?"));
    if (prompt !== undefined) await this.run(session?.id, { prompt }, "ask");
  }

  /**
   * Asks for another task and runs it in the active session, or in a new one if none is active. `title` makes the title
   * of the box from the session's title.
   */
  async followUp(title = (task: string): string => t("Agent: Follow Up on “{0}”", task)): Promise<void> {
    const session = this.store.active;
    if (!session) {
      await this.runTask();
      return;
    }
    if (warnIfRunning(session) || !canRunHere()) return;
    const prompt = await this.prompts.ask(title(session.title));
    if (prompt !== undefined) await this.run(session.id, { prompt });
  }

  /** Stops all runs, or the run of one session. */
  async stop(sessionId?: string): Promise<void> {
    const running = this.store.sessions.filter(({ id, running }) => running && (sessionId ?? id) === id);
    if (running.length === 0) void showInformation(t("The agent is not running."));
    // the server does not know a session that is starting; to stop it, its placeholder is removed
    const known = running.filter(({ id, isStarting }) => !(isStarting && this.store.endStart(id)));
    for (const { id } of known) this.store.stopRun(id);
    await Promise.all(known.map(({ id }) => this.server.request(method.cancel, { sessionId: id })));
  }

  /** Runs the text of the active document as a task in a new session. Closes the document if it is a task document. */
  async runDocument(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const prompt = editor?.document.getText().trim();
    if (!prompt) {
      void showInformation(t("Write the task first."));
      return;
    }
    if (!canRunHere()) return;
    // nothing is lost, because running the task adds it to the history
    if (editor?.document.languageId === "fairlead-task")
      await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
    await this.runTask(prompt);
  }

  /**
   * Runs a task and reports its end. Returns true when the run has ended and the user has closed the message about it;
   * false if it did not start.
   *
   * `mode`: null only for a task that continues a run; the server then uses the mode that the run had.
   * `isTyped`: whether the user typed the prompt. The history then contains it. If the run cannot start, the next box
   * begins with it, unless the task comes from the conversation, which restores the text itself.
   */
  private async run(
    sessionId: string | undefined,
    task: Task,
    mode: TaskMode | null = "agent",
    isTyped = true,
  ): Promise<boolean> {
    if (!canRunHere()) return false;
    let id = sessionId;
    let isStarted = false;
    const isFromConversation = "omitted" in task;
    const shown = "prompt" in task ? task.prompt : task;
    const begin = "prompt" in task && !isFromConversation ? this.showWork.bind(this) : undefined;
    if ("prompt" in task && isTyped) void this.prompts.remember(task.prompt);
    try {
      if ("prompt" in task) id ??= await this.newSession(task.prompt, mode, begin);
      if (id === undefined || !(await this.makeReady(hostedFor(mode, this.store.get(id)?.hosted)))) {
        if ("prompt" in task && isTyped && !isFromConversation) this.prompts.setDraft(task.prompt);
        return false;
      }
      const whole = await this.withChosenPrompt(task, id, sessionId === undefined);
      const runNumber = this.store.startRun(id, shown, mode && modeParams(mode).mode).runsStarted;
      isStarted = true;
      if (sessionId !== undefined) begin?.(sessionId);
      // the conversation shows the answer
      if (mode === "ask" && !isFromConversation) await vscode.commands.executeCommand("fairlead.showConversation");
      const result = await this.requestRun(id, whole, mode).catch((error: unknown) => {
        if (id !== undefined && !(error instanceof ServerGone))
          this.store.endRun(id, runNumber, { stopReason: "error", message: String(error), record: "" });
        throw error;
      });
      this.store.endRun(id, runNumber, result);
      await this.showResult(result, mode);
    } catch (error) {
      await this.showFailure(error, id);
    }
    return isStarted;
  }

  /** Whether a task can run in this window; if not, the user reads why. Asks for access to a model if none is configured. */
  async isReady(): Promise<boolean> {
    return canRunHere() && (await this.makeReady(undefined));
  }

  /** Runs a task in an existing session. No message reports its end, and a failure does not throw. */
  async runSilently(sessionId: string, prompt: string): Promise<void> {
    const runNumber = this.store.startRun(sessionId, prompt).runsStarted;
    try {
      this.store.endRun(sessionId, runNumber, await this.requestRun(sessionId, { prompt }, "agent"));
    } catch (error) {
      if (!(error instanceof ServerGone))
        this.store.endRun(sessionId, runNumber, { stopReason: "error", message: messageOf(error), record: "" });
    }
  }

  /**
   * Adds to a task what the prompt of a tool server says that it begins with. The tool server is started if necessary. If
   * that fails, deletes the session if it is new, and throws.
   */
  private async withChosenPrompt(task: Task, sessionId: string, isNew: boolean): Promise<Task> {
    if (!("prompt" in task) || !task.chosen) return task;
    await this.server.ensureToolServers();
    try {
      const { context } = await this.server.request(method.serverPrompt, { sessionId, ...task.chosen });
      return { ...task, context: [...(task.context ?? []), ...context] };
    } catch (error) {
      if (isNew && !(error instanceof ServerGone)) await this.server.request(method.deleteSession, { sessionId });
      throw error;
    }
  }

  /**
   * Creates a session and returns its id. While the server starts, a placeholder already shows the task; `onStart` gets
   * its id. Returns undefined if the user configures no access to a model or stops the task, or if the server does not start.
   */
  private async newSession(
    prompt: string,
    mode: TaskMode | null,
    onStart?: (starting: string) => void,
  ): Promise<string | undefined> {
    let starting: string | undefined;
    const hosted = this.store.hostedOfNew;
    const begin = (): void => {
      starting = this.store.showStarting(prompt, mode && modeParams(mode).mode);
      onStart?.(starting);
    };
    try {
      if (!(await this.makeReady(hostedFor(mode, hosted), begin))) return undefined;
      const { sessionId } = await this.server.request(method.createSession, {});
      if (starting !== undefined && this.store.get(starting)) {
        this.store.setHosted(sessionId, hosted);
        return sessionId;
      }
      await this.server.request(method.deleteSession, { sessionId });
      return undefined;
    } finally {
      if (starting !== undefined) this.store.endStart(starting);
    }
  }

  /** Shows the plan and the conversation of a session in which a task starts. The editor keeps the focus. */
  private showWork(sessionId: string): void {
    void vscode.commands.executeCommand("fairlead.plan.focus", { preserveFocus: true });
    const isWanted = vscode.workspace.getConfiguration("fairlead").get<boolean>("openConversation", true);
    if (isWanted && !this.isSeen(sessionId))
      void vscode.commands.executeCommand("fairlead.conversation.focus", { preserveFocus: true });
  }

  /**
   * Asks for access to a model if none is configured, calls `onStart`, and then starts the server, which can take a
   * while. A hosted agent has a model of its own. Returns whether a run can start.
   */
  private async makeReady(hosted: string | undefined, onStart?: () => void): Promise<boolean> {
    const isConfigured = Boolean(hosted) || (await this.access.isConfigured());
    if (!isConfigured && !(await this.access.ask())) return false;
    onStart?.();
    try {
      await (isConfigured ? this.server.started() : this.server.sendApiKey());
      return true;
    } catch (error) {
      if (error instanceof NotStarted) return false;
      throw error;
    }
  }

  private async requestRun(sessionId: string, task: Task, mode: TaskMode | null): Promise<RunResult> {
    const session = this.store.get(sessionId);
    const hosted = hostedFor(mode, session?.hosted);
    if (!hosted) {
      const model = session?.row?.model;
      // those of the configured endpoint are installed when the server starts
      if (model && model.endpoint !== configuredEndpoint()) await this.server.ensurePackages(model.endpoint);
      await this.server.ensureToolServers();
    }
    return this.server.request(method.runTask, {
      ...(await this.paramsOf(task, sessionId)),
      sessionId,
      ...(mode && modeParams(mode)),
      ...(hosted !== undefined && { hosted }),
    });
  }

  /** Returns the params of `agent/runTask`, apart from the session and the mode. */
  private async paramsOf(task: Task, sessionId: string): Promise<object> {
    if ("continue" in task) return { continue: task.continue, context: [], editor: editorContext(sessionId) };
    const { omitted = [], prompt } = task;
    const editor = omitted.includes("editor") ? undefined : editorContext(sessionId, omitted);
    const isSelectionSent = isEditorContextOn() && omitted.length === 0;
    const selected = isSelectionSent ? selectedTextItem(sessionId) : undefined;
    // each mention of a resource has a colon
    const offers = /[#@].*:/.test(prompt) ? await this.serverOffers.of(sessionId) : [];
    const context: ContextItem[] = [
      ...(task.context ?? []),
      ...(await contextItems(prompt, sessionId, offers)),
      ...(selected ? [selected] : []),
    ];
    return { prompt, context, ...(editor && { editor }) };
  }

  /** `interrupted` is the session whose run ended because of the error. */
  private async showFailure(error: unknown, interrupted?: string): Promise<void> {
    if (error instanceof NotStarted) return;
    if (!(error instanceof ServerGone)) {
      void showError(messageOf(error));
      return;
    }
    // the conversation says it, with a button that continues
    if (interrupted !== undefined && this.isSeen(interrupted)) return;
    const what = error.isRequested ? t("The server was stopped.") : t("The server crashed.");
    const chosen = await (error.isRequested ? showInformation : showError)(
      interrupted === undefined
        ? t("{0} Your files are unchanged.", what)
        : t("{0} Your files are unchanged. Continue?", what),
      ...(interrupted === undefined ? [] : [t("Continue")]),
      t("Show Log"),
    );
    if (chosen === t("Continue") && interrupted !== undefined) await this.retry(interrupted);
    if (chosen === t("Show Log")) await vscode.commands.executeCommand("fairlead.showLog");
  }

  private async showResult(result: RunResult, mode: TaskMode | null): Promise<void> {
    const session = this.store.get(result.sessionId);
    const files = session?.edits?.files.length ?? 0;
    if (result.stopReason === "cancelled" || this.isSeen(result.sessionId)) return;
    if (result.error) {
      const actions = errorActions(result.error, takesKey(session?.row?.model.endpoint)).slice(0, MOST_ACTIONS);
      const buttons = [...actions.map(actionLabel), t("Show Conversation")];
      const chosen = await showError(`${sessionName(session)}: ${result.message}`, ...buttons);
      if (chosen === undefined || !this.show(result.sessionId)) return;
      const action = actions.find((each) => actionLabel(each) === chosen);
      if (action) await this.help(result.sessionId, action);
      if (chosen === t("Show Conversation")) await vscode.commands.executeCommand("fairlead.showConversation");
      return;
    }
    if (mode === "ask" && result.stopReason === "end_turn") return;
    // no message, because a notice and a row in the plan show the pause until the user continues
    if (session?.pause) return;
    if (isReadyToGo(session)) {
      await this.showPlanReady(result.sessionId);
      return;
    }
    const actions = files > 0 ? [t("Review Changes"), t("Show Conversation")] : [t("Show Conversation")];
    const who = sessionName(session);
    const ended = result.stopReason === "end_turn" ? who : `${who} (${result.stopReason.replace(/_/g, " ")})`;
    const chosen = await showInformation(
      [`${ended}: ${plainSummary(result.message) || t("done.")}`, recordText(result)].filter(Boolean).join(" — "),
      ...actions,
    );
    if (chosen === undefined || !this.show(result.sessionId)) return;
    if (chosen === t("Review Changes")) await vscode.commands.executeCommand("fairlead.reviewAll");
    if (chosen === t("Show Conversation")) await vscode.commands.executeCommand("fairlead.showConversation");
  }

  /** Shows the session that a message is about. If the user has deleted it, says so and returns false. */
  private show(sessionId: string): boolean {
    const exists = this.store.show(sessionId);
    if (!exists) void showInformation(t("This session was deleted."));
    return exists;
  }

  private async showPlanReady(sessionId: string): Promise<void> {
    const plan = this.store.get(sessionId)?.plan;
    const steps = (plan?.total ?? 0) - (plan?.completed ?? 0);
    const who = sessionName(this.store.get(sessionId));
    const chosen = await showInformation(
      oneOrMany(
        steps,
        t("{0}: the plan has 1 step. Edit it if you like, then choose Go.", who),
        t("{0}: the plan has {1} steps. Edit it if you like, then choose Go.", who, steps),
      ),
      t("Go"),
      t("Show Plan"),
    );
    if (chosen === undefined || !this.show(sessionId)) return;
    if (chosen === t("Go")) await this.go(sessionId);
    if (chosen === t("Show Plan")) await vscode.commands.executeCommand("fairlead.plan.focus");
  }
}

/** Returns whether the session is running. If it is, tells the user to wait or to stop it. */
function warnIfRunning(session: Session): boolean {
  if (session.running)
    void showInformation(t("This session is still running. Stop it first, or wait until it has ended."));
  return session.running;
}

/** Returns whether a task can run in this window. If not, shows what is missing, with a button. */
function canRunHere(): boolean {
  if (!vscode.workspace.workspaceFolders?.length) {
    void showErrorWithButton(
      t("No folder is open. Open the folder that the agent should work in."),
      t("Open Folder"),
      "vscode.openFolder",
    );
    return false;
  }
  if (!vscode.workspace.isTrusted) {
    void showErrorWithButton(
      t("The agent runs only in a workspace that you trust."),
      t("Manage Trust"),
      "workbench.trust.manage",
    );
    return false;
  }
  return true;
}

async function showErrorWithButton(message: string, button: string, command: string): Promise<void> {
  if (await showError(message, button)) await vscode.commands.executeCommand(command);
}
