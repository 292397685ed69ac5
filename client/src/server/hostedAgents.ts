// Agents of other makers that work in place of Fairlead's own (docs/agents.md): which one does the next task, its options
// and its sign-in.

import { t } from "@vscode/l10n";
import os from "node:os";
import * as vscode from "vscode";
import type { Store } from "../state/store";
import type { TaskMode } from "../state/taskMode";
import { pick, programTerminal, showBriefly, showInformation, withProgress } from "../ui/show";
import { lineText } from "../ui/shownText";
import { method, type AgentEvent } from "../wire/protocol";
import type { AgentChoice, AgentOption, HostedAgent, HostedAgents as Listed } from "../wire/protocolStates";
import { showFailure } from "./errors";
import {
  agentRows,
  choiceRows,
  optionRows,
  optionsLabel,
  optionsOf,
  OWN_TITLE,
  typedCommands,
} from "./hostedAgentRows";
import type { AgentServer } from "./server";

/** Where the agent of new sessions is saved, for the next window. */
const CHOSEN_KEY = "fairlead.hostedAgent";
/** After these, what can be chosen for an agent may have changed. */
const RELEVANT_EVENTS: readonly AgentEvent["kind"][] = ["round_started", "run_finished"];

export class HostedAgents implements vscode.Disposable {
  /** What the server has said last, about the session with this id. */
  private listed: { readonly sessionId: string | undefined; readonly agents: Listed } | undefined;
  private readonly changed = new vscode.EventEmitter<void>();
  /** Fires when the agent of new sessions, or what is known about the agents, has changed. */
  readonly onDidChange = this.changed.event;
  private readonly unsubscribe: readonly (() => void)[];

  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    private readonly memory: vscode.Memento,
    /** The mode of the prompt. */
    private readonly mode: () => TaskMode,
  ) {
    store.hostedOfNew = memory.get(CHOSEN_KEY, "");
    this.unsubscribe = [
      store.onChange((change) => {
        if (change === "sessions" && this.listed?.sessionId !== this.sessionId) void this.update();
      }),
      store.onEvent((event) => {
        if (event.sessionId === store.active?.id && RELEVANT_EVENTS.includes(event.kind)) void this.update();
      }),
    ];
  }

  /** The title of the agent that does the next task of the shown session. */
  get title(): string {
    return this.titleOf(this.store.hosted);
  }

  /** The model of the hosted agent that is chosen, or else a word for its options; empty if these are not known. */
  get optionsLabel(): string {
    return optionsLabel(this.options);
  }

  dispose(): void {
    for (const stop of this.unsubscribe) stop();
    this.changed.dispose();
  }

  /** Asks the server again what is known about the agent that is chosen. Never throws, and never installs the server. */
  async update(): Promise<void> {
    if (this.store.hosted === "" || !(await this.server.isInstalled())) return;
    await this.list().catch(() => undefined);
  }

  /** The commands that the chosen agent knows after a slash. */
  async commands(): Promise<ReturnType<typeof typedCommands>> {
    await this.update();
    return typedCommands(this.known, this.store.hosted);
  }

  /** Lets the user choose who does the next task of the shown session, and the tasks of new ones. */
  async choose(): Promise<void> {
    try {
      const { agents } = await this.list();
      const rows = agentRows(agents, this.store.hosted, this.mode());
      const placeholder = t("Choose who does the next task of this session, and the tasks of new sessions.");
      const chosen = await pick(rows, { title: t("Agent: Choose Agent"), placeholder });
      if (chosen && (!chosen.agent || (await this.isReady(chosen.agent)))) await this.use(chosen.agent?.name ?? "");
    } catch (error) {
      showFailure(error);
    }
  }

  /** Makes it the agent of the shown session's next task, and of new sessions. `name`: empty for Fairlead's own. */
  async use(name: string): Promise<void> {
    const { active } = this.store;
    this.store.hostedOfNew = name;
    if (active) this.store.setHosted(active.id, name);
    this.changed.fire();
    showBriefly(t("{0} does the next task.", this.titleOf(name)));
    await this.memory.update(CHOSEN_KEY, name);
    await this.update();
  }

  /** Lets the user choose a value for an option of the chosen agent, such as its model. */
  async chooseOption(): Promise<void> {
    const { sessionId, title } = this;
    await this.update();
    const rows = optionRows(this.options);
    if (sessionId === undefined || rows.length === 0) {
      void showInformation(t("The options of {0} are known after it has begun to work. Send it a task first.", title));
      return;
    }
    const asked = t("Choose what to change.");
    const option = rows.length === 1 ? rows[0] : await pick(rows, { title, placeholder: asked });
    if (!option) return;
    const placeholder = option.option.name;
    const choice = await pick(choiceRows(option.option), { title, placeholder });
    if (choice) await this.setOption(sessionId, option.option, choice.choice);
  }

  /**
   * Lets the user sign in to an agent, by default one of those that have a sign-in, in a terminal. Returns whether its
   * program has ended without an error.
   */
  async signIn(name?: string): Promise<boolean> {
    try {
      const { agents } = await this.list();
      const known = agents.filter((agent) => agent.signIn.length > 0);
      const given = agents.find((agent) => agent.name === name);
      const agent = given ?? (await this.pickSignIn(known));
      if (!agent) return false;
      const [program, ...args] = agent.signIn;
      if (program !== undefined) return await runInTerminal(agent, program, args);
      void showInformation(
        t("{0} has no command for a sign-in. Its documentation says how you sign in.", lineText(agent.title)),
      );
    } catch (error) {
      showFailure(error);
    }
    return false;
  }

  private async pickSignIn(agents: readonly HostedAgent[]): Promise<HostedAgent | undefined> {
    if (agents.length === 0) {
      void showInformation(t("No agent with a sign-in is installed. Use “Agent: Choose Agent” to install one."));
      return undefined;
    }
    const rows = agents.map((agent) => ({ agent, label: agent.title, description: agent.name }));
    const placeholder = t("Choose the agent to sign in to.");
    return (await pick(rows, { title: t("Agent: Sign In to Agent"), placeholder }))?.agent;
  }

  /** Returns whether an agent is installed. If it is not, installs it if the user agrees. */
  private async isReady({ name, title, command, packages, isInstalled }: HostedAgent): Promise<boolean> {
    if (isInstalled) return true;
    const [program = ""] = command.split(" ");
    if (packages.length === 0) {
      void showInformation(t("{0} is not installed. Install the program {1}, and choose it again.", title, program));
      return false;
    }
    const detail = t(
      "These npm packages are downloaded once into a folder of Fairlead, and none of their scripts run: {0}",
      packages.join(", "),
    );
    const install = t("Install");
    const answer = await showInformation(t("Install {0}?", title), { modal: true, detail }, install);
    if (answer !== install) return false;
    const installing = (): Promise<Listed> => this.server.request(method.installAgent, { agent: name });
    await withProgress({ title: t("Installing {0}...", title) }, installing);
    return true;
  }

  private async setOption(sessionId: string, { id }: AgentOption, choice: AgentChoice): Promise<void> {
    try {
      const params = { sessionId, option: id, value: choice.id };
      this.keep(sessionId, await this.server.request(method.setAgentOption, params));
      showBriefly(t("{0} now uses {1}.", this.title, choice.name));
    } catch (error) {
      showFailure(error);
    }
  }

  /** Asks the server for the agents, and what it knows about that of the shown session. */
  private async list(): Promise<Listed> {
    const { sessionId } = this;
    const agents = await this.server.request(method.hostedAgents, sessionId === undefined ? {} : { sessionId });
    this.keep(sessionId, agents);
    return agents;
  }

  private keep(sessionId: string | undefined, agents: Listed): void {
    const before = JSON.stringify(this.listed);
    this.listed = { sessionId, agents };
    if (JSON.stringify(this.listed) !== before) this.changed.fire();
  }

  private titleOf(name: string): string {
    if (name === "") return OWN_TITLE;
    return this.listed?.agents.agents.find((agent) => agent.name === name)?.title ?? name;
  }

  private get options(): readonly AgentOption[] {
    return optionsOf(this.known, this.store.hosted);
  }

  /** What the server has said about the shown session. */
  private get known(): Listed | undefined {
    return this.listed?.sessionId === this.sessionId ? this.listed?.agents : undefined;
  }

  /** The shown session, if the server has it for this window. */
  private get sessionId(): string | undefined {
    const { active } = this.store;
    return active && !active.isStarting && !active.row?.openElsewhere ? active.id : undefined;
  }
}

/**
 * Runs a program of an agent in a terminal. Its folder is not the workspace, whose settings an agent could follow outside
 * of the sandbox. Returns whether it has ended without an error.
 */
function runInTerminal(agent: HostedAgent, program: string, args: readonly string[]): Promise<boolean> {
  const name = t("Sign In to {0}", agent.title);
  const terminal = programTerminal(name, program, args, agent.signInVariables, os.homedir());
  terminal.show();
  return new Promise((resolve) => {
    const subscription = vscode.window.onDidCloseTerminal((closed) => {
      if (closed !== terminal) return;
      subscription.dispose();
      resolve(closed.exitStatus?.code === 0);
    });
  });
}
