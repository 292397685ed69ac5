// What the user does with tool servers: add, restart, switch tools on and off, look at the output and the definition,
// remove. Also lists them again when their definitions may have changed.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { CONTAINERS, freeName, nameOfAddress, programOf, splitCommandLine, suggestedName } from "./commandLine";
import {
  addressProblem,
  definitionOffset,
  hostsIn,
  hostsProblem,
  nameProblem,
  readPasted,
  withTool,
  without,
  type Definition,
  type Definitions,
} from "./definitions";
import { outputText, type ServerNode, type ToolNode } from "./serverRows";
import { orShowWarning } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import type { Store } from "../../state/store";
import { askForText, pick, showInformation, showWarning } from "../../ui/show";
import { visibleText } from "../../ui/shownText";
import { method } from "../../wire/protocol";
import type { ToolServer } from "../../wire/protocolStates";

const SETTING = "mcpServers";
const OUTPUT_SCHEME = "fairlead-tool-output";
/** The workspace's files with definitions. */
const FILES = "{.mcp.json,.vscode/mcp.json}";

export class ToolServers implements vscode.Disposable {
  private readonly outputChanged = new vscode.EventEmitter<vscode.Uri>();
  private readonly disposables: { dispose(): unknown }[];

  /** `isVisible`: whether the user sees the view. */
  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    private readonly isVisible: () => boolean,
  ) {
    const files = vscode.workspace.createFileSystemWatcher(`**/${FILES}`);
    const list = (): void => {
      if (this.isVisible()) void this.list();
    };
    let shown = store.active?.id;
    this.disposables = [
      files,
      files.onDidChange(list),
      files.onDidCreate(list),
      files.onDidDelete(list),
      server.onDidApplySettings(list),
      {
        dispose: store.onChange((change) => {
          if (change !== "sessions" || store.active?.id === shown) return;
          shown = store.active?.id;
          list();
        }),
      },
      {
        dispose: store.toolServers.onChange(() => {
          this.redrawOutputs();
        }),
      },
      vscode.workspace.registerTextDocumentContentProvider(OUTPUT_SCHEME, {
        onDidChange: this.outputChanged.event,
        provideTextDocumentContent: (uri) => this.output(uri),
      }),
      this.outputChanged,
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Requests the servers of the shown session, or those of a new one. Never throws: the rows stay as they were. */
  async list(): Promise<void> {
    if (!(await this.server.isInstalled())) return;
    const sessionId = this.sessionId();
    const listed = await this.server
      .request(method.toolServersList, sessionId === undefined ? {} : { sessionId })
      .catch(() => undefined);
    if (listed) this.store.toolServers.set(listed);
  }

  /** Shows the view. */
  async show(): Promise<void> {
    await vscode.commands.executeCommand("fairlead.toolServers.focus");
  }

  /** Starts a server again, by default one that the user chooses. */
  async restart(node?: ServerNode): Promise<void> {
    await this.list();
    const servers = this.servers().filter(({ state }) => state !== "disabled");
    const name = node?.server.name ?? (await this.choose(servers));
    if (name !== undefined) await this.start(name);
  }

  private async choose(servers: readonly ToolServer[]): Promise<string | undefined> {
    const [first] = servers;
    if (!first) void showInformation(t("There is no tool server. Run “Agent: Add Tool Server...”."));
    if (servers.length < 2) return first?.name;
    const rows = servers.map(({ name, command }) => ({ label: name, description: command }));
    return (await pick(rows, { title: t("Agent: Restart Tool Server") }))?.label;
  }

  /** Starts a server, whatever happened before. Its row says whether it works. */
  private async start(name: string): Promise<void> {
    const sessionId = this.sessionId();
    if (sessionId === undefined) {
      void showInformation(t("{0} starts when a task needs it. There is no session yet.", name));
      return;
    }
    const listed = await orShowWarning(async () => {
      await this.server.ensureToolServers(true);
      return this.server.request(method.toolServersRestart, { sessionId, server: name });
    });
    if (listed) this.store.toolServers.set(listed);
  }

  /** Switches a tool of a server in the user's settings on or off. */
  async switchTool({ serverName, tool }: ToolNode, isOn: boolean): Promise<void> {
    await this.save(withTool(this.defined(), serverName, tool.name, isOn));
  }

  /** Opens what a server has written besides its messages. */
  async showOutput({ server }: ServerNode): Promise<void> {
    const uri = outputUri(server.name);
    this.outputChanged.fire(uri);
    await vscode.window.showTextDocument(uri);
  }

  /** Opens the file with a server's definition, at the definition. */
  async openDefinition({ server }: ServerNode): Promise<void> {
    if (server.definedIn === null) await vscode.commands.executeCommand("workbench.action.openSettingsJson");
    else await vscode.window.showTextDocument(vscode.Uri.parse(server.definedIn));
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    const position = editor.document.positionAt(definitionOffset(editor.document.getText(), server.name));
    editor.selection = new vscode.Selection(position, position);
    editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  /** Removes a server from the user's settings, after a question. */
  async remove({ server }: ServerNode): Promise<void> {
    const detail = t("Its definition is removed from your settings.");
    const sure = await showWarning(
      t("Remove the tool server “{0}”?", server.name),
      { modal: true, detail },
      t("Remove"),
    );
    if (sure !== undefined) await this.save(without(this.defined(), server.name));
  }

  /** Asks for a server's definition, saves it in the user's settings, and starts the server. */
  async add(): Promise<void> {
    const forms = [
      {
        icon: "terminal",
        label: t("Command"),
        description: t("npx, uvx, docker or any program"),
        ask: () => this.askForCommand(),
      },
      { icon: "globe", label: t("Address"), description: t("the URL of a service"), ask: () => this.askForAddress() },
      {
        icon: "json",
        label: t("Paste a Definition"),
        description: t("JSON, as in the README of a server"),
        ask: () => this.askForJson(),
      },
    ];
    const texts = { title: TITLE(), placeholder: t("How is the tool server defined?") };
    const added = await (await pick(forms, texts))?.ask();
    if (!added) return;
    await this.save({ ...this.defined(), ...added });
    await this.show();
    await this.server.sendSettings();
    await this.list();
    if (this.sessionId() !== undefined) await Promise.all(Object.keys(added).map((name) => this.start(name)));
  }

  private async askForCommand(): Promise<Definitions | undefined> {
    const problem = (text: string): string | undefined => {
      const line = splitCommandLine(text);
      return "problem" in line ? line.problem : undefined;
    };
    const texts = {
      title: TITLE(),
      prompt: t("The whole command line. It runs in the sandbox."),
      placeholder: "npx -y @modelcontextprotocol/server-filesystem ${workspaceFolder}",
    };
    const typed = await askForText(texts, { ignoreFocusOut: true, problem });
    const line = typed === undefined ? undefined : splitCommandLine(typed);
    if (!line || "problem" in line) return undefined;
    const name = await this.askForName(suggestedName(line.words));
    if (name === undefined) return undefined;
    const hosts = await askForHosts(line.words);
    if (hosts === undefined) return undefined;
    const [command = "", ...args] = line.words;
    const env = Object.keys(line.variables).length > 0 && { env: line.variables };
    return { [name]: { command, args, ...env, ...(hosts.length > 0 && { hosts }) } };
  }

  private async askForAddress(): Promise<Definitions | undefined> {
    const texts = { title: TITLE(), prompt: t("The address of the service."), placeholder: "https://example.com/mcp" };
    const typed = await askForText(texts, { ignoreFocusOut: true, problem: addressProblem });
    if (typed === undefined) return undefined;
    const name = await this.askForName(nameOfAddress(typed));
    return name === undefined ? undefined : { [name]: { url: typed.trim() } };
  }

  private async askForJson(): Promise<Definitions | undefined> {
    const taken = Object.keys(this.defined());
    const problem = (text: string): string | undefined => {
      const read = readPasted(text, taken);
      return read.kind === "problem" ? read.problem : undefined;
    };
    const texts = {
      title: TITLE(),
      prompt: t("A definition, or several by name, as other agents use them."),
      placeholder:
        '{"mcpServers": {"memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}}}',
    };
    const typed = await askForText(texts, { ignoreFocusOut: true, problem });
    const read = typed === undefined ? undefined : readPasted(typed, taken);
    if (read?.kind === "servers") return read.servers;
    if (read?.kind !== "one") return undefined;
    const name = await this.askForName(nameOf(read.definition));
    return name === undefined ? undefined : { [name]: read.definition };
  }

  private async askForName(suggested: string): Promise<string | undefined> {
    const taken = this.servers().map(({ name }) => name);
    const names = [...new Set([...taken, ...Object.keys(this.defined())])];
    const texts = { title: TITLE(), prompt: t("The name of the tool server. The agent sees its tools as name__tool.") };
    const problem = (text: string): string | undefined => nameProblem(text, names);
    const typed = await askForText(texts, { value: freeName(suggested, names), ignoreFocusOut: true, problem });
    return typed?.trim();
  }

  private servers(): readonly ToolServer[] {
    return this.store.toolServers.of(this.sessionId()) ?? [];
  }

  /** The id of the shown session, if the server has created it. */
  private sessionId(): string | undefined {
    const { active } = this.store;
    return active?.isStarting ? undefined : active?.id;
  }

  /** The definitions in the user's settings. */
  private defined(): Definitions {
    const found = vscode.workspace.getConfiguration("fairlead").inspect<Definitions>(SETTING);
    return found?.globalValue ?? {};
  }

  private async save(definitions: Definitions): Promise<void> {
    const value = Object.keys(definitions).length === 0 ? undefined : definitions;
    const settings = vscode.workspace.getConfiguration("fairlead");
    await orShowWarning(async () => settings.update(SETTING, value, vscode.ConfigurationTarget.Global));
  }

  private output(uri: vscode.Uri): string {
    const found = this.servers().find(({ name }) => outputUri(name).toString() === uri.toString());
    return found ? visibleText(outputText(found)) : "";
  }

  private redrawOutputs(): void {
    for (const { uri } of vscode.workspace.textDocuments)
      if (uri.scheme === OUTPUT_SCHEME) this.outputChanged.fire(uri);
  }
}

const TITLE = (): string => t("Agent: Add Tool Server");

const outputUri = (name: string): vscode.Uri =>
  vscode.Uri.from({ scheme: OUTPUT_SCHEME, path: `/${name.replace(/[\\/]/g, "-")} output`, query: name });

/** Asks for what a server reaches. A container has the network of its daemon, so nothing is asked about one. */
async function askForHosts(words: readonly string[]): Promise<readonly string[] | undefined> {
  if (CONTAINERS.includes(programOf(words))) return [];
  const texts = {
    title: TITLE(),
    prompt: t("What it reaches over the network; empty for nothing. Calls of a server with hosts ask first."),
    placeholder: "api.github.com, localhost:5432",
  };
  const typed = await askForText(texts, { ignoreFocusOut: true, problem: hostsProblem });
  return typed === undefined ? undefined : hostsIn(typed);
}

/** A name for a pasted definition. */
function nameOf({ command, args, url, serverUrl }: Definition): string {
  const address = url ?? serverUrl;
  if (typeof address === "string" && URL.canParse(address)) return nameOfAddress(address);
  const words = [command, ...(Array.isArray(args) ? (args as unknown[]) : [])];
  return suggestedName(words.filter((word) => typeof word === "string"));
}
