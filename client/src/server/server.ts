// The server process: starts when it is first needed, restarts when it dies, and gets settings, trust and API key.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  CodeLensRequest,
  ErrorCodes,
  LanguageClient,
  ShowMessageNotification,
  ShowMessageRequest,
  State,
  type ClientCapabilities,
  type LanguageClientOptions,
  type Middleware,
  type StaticFeature,
} from "vscode-languageclient/node";
import { applyEdit } from "./applyEdit";
import { claims } from "./claims";
import { messageOf, NotStarted, ServerGone } from "./errors";
import { NotInstalled } from "./environment";
import { showPackagesHelp, showPythonHelp } from "./help";
import { ensureExtra, isInstalled, NoPython, requirementsOf, serverPython } from "./locate";
import { extraFor } from "./access";
import { API_KEYS_SECRET, savedKeys } from "./apiKeys";
import {
  answerRequest,
  onNotification,
  sendRequest,
  type ClientNotifications,
  type ClientRequests,
} from "./typedMessages";
import { method, scheme, type AgentCapabilities } from "../wire/protocol";
import type { Title } from "../wire/protocolStates";
import { titleText, withTranslations } from "../state/serverTexts";
import { configuredExtra, configuredProxy, savesAfterAccept, serverSettings } from "./settings";
import { storageFolder } from "./storage";
import { TOOL_SERVER_SECRETS, ToolServerSecrets } from "./toolServerSecrets";
import type { Store } from "../state/store";
import type { ChosenModel } from "../wire/protocolStates";
import { setContextKey } from "../ui/contextKeys";
import { showError, showFromServer, showTitle, showWarning } from "../ui/show";

const CONNECTION_LOST = new Set<unknown>([
  ErrorCodes.PendingResponseRejected,
  ErrorCodes.ConnectionInactive,
  ErrorCodes.MessageWriteError,
]);
/** The variable that lists the names of the variables for the server only, not for the commands that it runs. */
const ADDED_VARIABLES = "FAIRLEAD_ADDED_VARIABLES";
/** The extra of the server's package that has the SDK for tool servers. */
const TOOL_SERVERS = "mcp";
/** The maximum number of restarts of the server within RESTART_WINDOW milliseconds. */
const RESTARTS = 4;
const RESTART_WINDOW = 3 * 60_000;

export class AgentServer implements vscode.Disposable {
  /** Commands in the server's CodeLenses that the client handles instead. */
  readonly commandOverrides = new Map<string, (params: unknown) => unknown>();
  /** Whether a CodeLens is not shown; gets its document and the params of its command. */
  hidesLens: (document: vscode.TextDocument, params: unknown) => boolean = () => false;
  /** Resolves when the client's server has started. Undefined if no server is running or starting. */
  private client: Promise<LanguageClient> | undefined;
  /** The clients whose server this extension has stopped. */
  private readonly stopped = new WeakSet<LanguageClient>();
  /** Functions that reject the requests that have no answer yet. */
  private readonly pendingRequests = new Set<() => void>();
  /** The sessions whose plan and edits are being requested again. */
  private readonly refetching = new Set<string>();
  /** The extras whose packages are known to be installed. */
  private readonly extras = new Set<string>();
  /** Whether the packages for tool servers could not be installed. */
  private lacksToolServers = false;
  private failed = false;
  private readonly applied = new vscode.EventEmitter<void>();
  /**
   * Fires when the server has got settings or keys, when the settings change while it is not running, and when
   * `hasFailed` changes.
   */
  readonly onDidApplySettings = this.applied.event;
  private readonly disposables: vscode.Disposable[];
  private readonly toolServerSecrets: ToolServerSecrets;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly store: Store,
    private readonly log: vscode.LogOutputChannel,
    /** Returns the path of the recording that replaces the model if no setting names one; undefined: none. */
    private readonly recording: () => string | undefined,
    /** Registers the answers to the server's requests that are not about files. */
    private readonly registerAnswers: (client: LanguageClient) => void,
  ) {
    this.toolServerSecrets = new ToolServerSecrets(context.secrets);
    this.disposables = [
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (!event.affectsConfiguration("fairlead")) return;
        const isMoved = ["endpoint", "baseUrl"].some((name) => event.affectsConfiguration(`fairlead.${name}`));
        if (isMoved && this.client) void ensureExtra(context, log);
        if (event.affectsConfiguration("fairlead.python")) void this.restart();
        else void this.sendSettings();
      }),
      vscode.workspace.onDidSaveTextDocument((document) => void this.refreshLenses(document)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.notify(method.trust, { trusted: true })),
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused) void this.findSessions();
      }),
      context.secrets.onDidChange(({ key }) => {
        if (key === API_KEYS_SECRET) void this.client?.then((client) => this.sendCredentials(client));
        if (key === TOOL_SERVER_SECRETS) void this.takeSignIns();
      }),
    ];
  }

  /**
   * Sends a request. Starts the server first if it is not running.
   *
   * Throws NotStarted if the server cannot start, ServerGone if it ends before it answers, and the server's error if it
   * refuses the request.
   */
  async request<Name extends keyof ClientRequests>(
    name: Name,
    params: ClientRequests[Name]["params"],
    token?: vscode.CancellationToken,
  ): Promise<ClientRequests[Name]["result"]> {
    const client = await this.started();
    const serverGone = (): ServerGone => new ServerGone(this.stopped.has(client));
    let abandon: (() => void) | undefined;
    // when the language client restarts the server, requests to the old server never get an answer
    const abandoned = new Promise<never>((_, reject) => {
      abandon = () => {
        reject(serverGone());
      };
      this.pendingRequests.add(abandon);
    });
    try {
      return withTranslations(await Promise.race([sendRequest(client, name, params, token), abandoned]));
    } catch (error) {
      throw isLost(error) ? serverGone() : error;
    } finally {
      if (abandon) this.pendingRequests.delete(abandon);
    }
  }

  /** Makes VS Code request the CodeLenses of a proposed text again, because they are hidden while it is not saved. */
  private async refreshLenses(document: vscode.TextDocument): Promise<void> {
    if (document.uri.scheme !== scheme.proposed) return;
    const client = await this.client;
    client?.getFeature(CodeLensRequest.method).getProvider(document)?.onDidChangeCodeLensEmitter.fire();
  }

  /** Starts the server if it is not running. If it cannot start, shows the reason and throws NotStarted. */
  started(): Promise<LanguageClient> {
    this.client ??= this.start();
    return this.client;
  }

  /**
   * Lets the server prepare for a task, so that the task begins sooner. Does nothing without a folder or in an
   * untrusted workspace. Starts the server only if its environment exists. Never throws: a failed start is shown to the
   * user, and a failed request is only logged, because the task will report it.
   */
  async warm(): Promise<void> {
    if (!vscode.workspace.isTrusted || !vscode.workspace.workspaceFolders?.length) return;
    try {
      const client = (await isInstalled(this.context)) ? await this.started() : await this.client;
      if (client) await sendRequest(client, method.warm, {});
    } catch (error) {
      this.log.debug(`The server could not prepare for a task: ${messageOf(error)}`);
    }
  }

  /** Whether the server can start without being installed first. */
  isInstalled(): Promise<boolean> {
    return isInstalled(this.context);
  }

  /** Whether a recording replaces the model. */
  get isReplaying(): boolean {
    return this.settings().replay !== "";
  }

  /** The model that the settings choose; undefined if the server is not running. */
  async defaultModel(): Promise<ChosenModel | undefined> {
    const client = await this.client?.catch(() => undefined);
    return client && sendRequest(client, method.chooseModel, {}).catch(() => undefined);
  }

  /**
   * Installs the packages that an endpoint and the settings need if they are missing. Starts the server first if it is
   * not running.
   */
  async ensurePackages(endpoint: string): Promise<void> {
    await this.started();
    for (const extra of [configuredExtra(), extraFor({ endpoint, baseUrl: "" }, {})]) {
      if (extra === undefined || this.extras.has(extra)) continue;
      if (await ensureExtra(this.context, this.log, extra)) this.extras.add(extra);
    }
  }

  /**
   * Installs the packages for tool servers if they are missing and a server is defined, in the settings or by the
   * workspace. If that fails, says so: the agent works without tool servers. Tries it once, unless `isWanted`: the user
   * has asked for a tool server. Starts the server first if it is not running.
   */
  async ensureToolServers(isWanted = false): Promise<void> {
    if (this.extras.has(TOOL_SERVERS) || (this.lacksToolServers && !isWanted)) return;
    const { servers } = await this.request(method.toolServersList, {});
    if (!servers.some(({ state }) => state !== "disabled")) return;
    if (await ensureExtra(this.context, this.log, TOOL_SERVERS)) {
      this.extras.add(TOOL_SERVERS);
      return;
    }
    this.lacksToolServers = true;
    // not awaited, because the message may stay open for long
    void this.showMissing(t("The packages for tool servers could not be installed, so the agent works without them."));
  }

  private async showMissing(message: string): Promise<void> {
    if (await showWarning(message, t("Show Log"))) this.log.show();
  }

  /** Sends the saved API keys, so that the next run has it. Starts the server first if it is not running. */
  async sendApiKey(): Promise<void> {
    await this.sendCredentials(await this.started());
  }

  /** Stops the server and starts it again. If it cannot start, shows the reason. */
  async restart(): Promise<void> {
    await this.stop();
    await this.started().catch(() => undefined);
  }

  /** Stops the server, after its start has ended if it is still starting. Unanswered requests fail with ServerGone. */
  async stop(): Promise<void> {
    const client = await this.client?.catch(() => undefined);
    this.client = undefined;
    if (client) {
      this.stopped.add(client);
      // rejects if the server does not shut down in time; the next one must start all the same
      await client.dispose().catch((error: unknown) => {
        this.log.error(messageOf(error));
      });
      this.onServerGone();
    }
  }

  /** Stops listening to VS Code. `stop` ends the server. */
  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
    this.applied.dispose();
  }

  /** Whether the last start has failed. */
  get hasFailed(): boolean {
    return this.failed;
  }

  private setFailed(failed: boolean): void {
    if (failed === this.failed) return;
    this.failed = failed;
    setContextKey("serverFailed", failed);
    this.applied.fire();
  }

  private onServerGone(): void {
    this.store.markServerGone();
    for (const abandon of this.pendingRequests) abandon();
  }

  private settings(): Record<string, unknown> {
    return serverSettings(this.recording());
  }

  private async start(): Promise<LanguageClient> {
    // shows “Stop and Restart Server” in the command palette, even if the start fails
    setContextKey("serverWanted", true);
    try {
      const python = await serverPython(this.context, this.log);
      const client = this.createClient(python);
      await client.start();
      client.onDidChangeState(({ newState }) => {
        if (newState !== State.StartFailed || this.stopped.has(client)) return;
        // a restart failed: this client never starts again, so the next task needs a new one
        this.client = undefined;
        void this.showFailure(t("Fairlead's server ended, and could not be started again."));
      });
      await this.sendCredentials(client);
      this.setFailed(false);
      return client;
    } catch (error) {
      this.client = undefined;
      this.log.error(error instanceof NotInstalled ? error.output : error instanceof Error ? error : String(error));
      this.setFailed(true);
      if (error instanceof NoPython) await showPythonHelp(this.context, error.attempts);
      else if (error instanceof NotInstalled) await showPackagesHelp(error, requirementsOf(this.context));
      // not awaited, because the message may stay open for long
      else void this.showFailure(t("Fairlead's server could not be started. {0}", reasonOf(error)));
      throw new NotStarted(String(error));
    }
  }

  private createClient(python: string): LanguageClient {
    const options: LanguageClientOptions = {
      documentSelector: [{ scheme: "file" }, { scheme: scheme.proposed }],
      outputChannel: this.log,
      initializationOptions: () => ({
        settings: this.settings(),
        trusted: vscode.workspace.isTrusted,
        storageDir: storageFolder(this.context),
      }),
      middleware: {
        ...fileFilter(),
        ...titleTranslation((document, params) => this.hidesLens(document, params)),
        executeCommand: (command, args: unknown[], next): unknown => {
          const override = this.commandOverrides.get(command);
          return override ? override(args[0]) : next(command, args);
        },
        workspace: { handleApplyEdit: (params) => applyEdit(params, savesAfterAccept()) },
      },
      // what remains is to discard the client, and `start` shows the reason
      initializationFailedHandler: () => false,
      errorHandler: this.restartPolicy(() => client.state === State.Running),
    };
    // -I: Python must not import modules from the workspace, PYTHONPATH or the user's site-packages
    const proxy = configuredProxy();
    const added = Object.keys(proxy).join(",");
    const run = {
      command: python,
      args: ["-I", "-m", "fairlead", "serve"],
      options: { cwd: this.context.extensionPath, env: { ...process.env, ...proxy, [ADDED_VARIABLES]: added } },
    };
    const client = new QuietClient("fairlead", "Fairlead", { run, debug: run }, options);
    client.registerFeature(new ClientFeatures());
    client.onNotification(ShowMessageNotification.type, (params) => {
      showFromServer(params);
    });
    client.onRequest(ShowMessageRequest.type, showFromServer);
    onNotification(client, method.plan, (plan) => {
      this.store.setPlan(plan);
    });
    onNotification(client, method.planChanged, (changed) => {
      if (!this.store.changePlan(changed)) void this.refetch(client, changed.sessionId);
    });
    onNotification(client, method.editsChanged, (changed) => {
      if (!this.store.changeEdits(changed)) void this.refetch(client, changed.sessionId);
    });
    onNotification(client, method.edits, (edits) => {
      this.store.setEdits(edits);
    });
    onNotification(client, method.sessions, ({ sessions }) => {
      this.store.setRows(sessions);
    });
    onNotification(client, method.together, (state) => {
      this.store.together.set(state);
    });
    onNotification(client, method.toolServers, (servers) => {
      this.store.toolServers.set(servers);
    });
    onNotification(client, method.event, (event) => {
      this.store.addEvent(event);
    });
    onNotification(client, method.secretChanged, (params) => {
      this.toolServerSecrets.save(params).catch((error: unknown) => {
        this.log.error(`A sign-in to a tool server could not be saved: ${messageOf(error)}`);
      });
    });
    answerRequest(client, method.claims, (params) => claims(params, savesAfterAccept()));
    this.registerAnswers(client);
    client.onDidChangeState(({ oldState, newState }) => {
      if (oldState === State.Running && newState !== State.Running) this.onServerGone();
      // after an automatic restart, the new server does not have the key
      if (newState === State.Running && this.client) void this.sendCredentials(client);
    });
    return client;
  }

  /**
   * Restarts a server that ends, unless its start has failed or is not yet complete, or it was already restarted
   * `RESTARTS` times within `RESTART_WINDOW`.
   */
  private restartPolicy(isRunning: () => boolean): NonNullable<LanguageClientOptions["errorHandler"]> {
    let closed: number[] = [];
    return {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        // a failed start is reported elsewhere, and a client that `start` has discarded must not start again
        if (!isRunning()) return { action: CloseAction.DoNotRestart, handled: true };
        const now = Date.now();
        closed = [...closed.filter((time) => now - time < RESTART_WINDOW), now];
        if (closed.length <= RESTARTS) {
          this.log.warn("The server ended and is being restarted.");
          return { action: CloseAction.Restart, handled: true };
        }
        this.client = undefined;
        const minutes = RESTART_WINDOW / 60_000;
        void this.showFailure(
          t("Fairlead's server ended {0} times in {1} minutes and is not restarted again.", closed.length, minutes),
        );
        return { action: CloseAction.DoNotRestart, handled: true };
      },
    };
  }

  private async sendCredentials(client: LanguageClient): Promise<void> {
    await sendRequest(client, method.credentials, { keys: await savedKeys(this.context.secrets) });
    await this.sendSignIns(client);
    this.applied.fire();
  }

  private async sendSignIns(client: LanguageClient): Promise<void> {
    const secrets = await this.toolServerSecrets.read();
    await sendRequest(client, method.secrets, { secrets });
  }

  /** Passes on the sign-ins to tool servers that another window has changed. */
  private async takeSignIns(): Promise<void> {
    const client = await this.client?.catch(() => undefined);
    if (client && (await this.toolServerSecrets.isChangedElsewhere())) await this.sendSignIns(client);
  }

  /** Sends the settings to the server if it is running. */
  async sendSettings(): Promise<void> {
    await this.notify("workspace/didChangeConfiguration", { settings: this.settings() });
    this.applied.fire();
  }

  /** Requests the complete plan and edits of a session, because a difference does not apply to those in the store. */
  private async refetch(client: LanguageClient, sessionId: string): Promise<void> {
    if (this.refetching.has(sessionId)) return;
    this.refetching.add(sessionId);
    try {
      const { plan, edits } = await sendRequest(client, method.openSession, { sessionId });
      this.store.setPlan(plan);
      this.store.setEdits(edits);
    } catch (error) {
      this.log.warn(`The session could not be read again: ${messageOf(error)}`);
    } finally {
      this.refetching.delete(sessionId);
    }
  }

  /** Lets the server search for what the user has done in other windows, if it is running. It sends the new list. */
  private async findSessions(): Promise<void> {
    const client = await this.client?.catch(() => undefined);
    if (client) await sendRequest(client, method.listSessions, {}).catch(() => undefined);
  }

  /** Sends a notification, if the server runs. */
  async notify<Name extends keyof ClientNotifications>(name: Name, params: ClientNotifications[Name]): Promise<void> {
    await (await this.client?.catch(() => undefined))?.sendNotification(name, params);
  }

  private async showFailure(message: string): Promise<void> {
    const chosen = await showError(message, t("Try Again"), t("Show Log"));
    if (chosen === t("Try Again")) void this.restart();
    else if (chosen === t("Show Log")) this.log.show();
  }
}

/** A client that only writes its errors to the log. Of each failure, `AgentServer` shows the user one message. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

const isLost = (error: unknown): boolean => CONNECTION_LOST.has((error as { code?: unknown }).code);

/** Why the server could not be started. */
const reasonOf = (error: unknown): string => (isLost(error) ? t("It ended while it was starting.") : messageOf(error));

/** Reports only files as open documents, because the server already has the proposed texts. */
function fileFilter(): Middleware {
  const isFile = ({ uri }: vscode.TextDocument): boolean => uri.scheme === "file";
  return {
    didOpen: async (document, next) => (isFile(document) ? next(document) : undefined),
    didChange: async (event, next) => (isFile(event.document) ? next(event) : undefined),
    didSave: async (document, next) => (isFile(document) ? next(document) : undefined),
    didClose: async (document, next) => (isFile(document) ? next(document) : undefined),
  };
}

/** Shows the server's CodeLenses and code actions in the user's language, without the CodeLenses that are hidden. */
function titleTranslation(hidesLens: AgentServer["hidesLens"]): Middleware {
  const translate = (titled: { title: string } | undefined, item: object): void => {
    const { data } = item as { data?: Title };
    if (titled) showTitle(titled, data ? titleText(data) : titled.title);
  };
  return {
    provideCodeLenses: async (document, token, next) => {
      const lenses = (await next(document, token))?.filter(
        ({ command }) => !hidesLens(document, command?.arguments?.[0]),
      );
      for (const lens of lenses ?? []) translate(lens.command, lens);
      return lenses;
    },
    provideCodeActions: async (document, range, context, token, next) => {
      const actions = await next(document, range, context, token);
      for (const action of actions ?? []) translate(action, action);
      return actions;
    },
  };
}

/** Announces what this client supports, and withdraws what it does not want (docs/protocol.md, Initialize). */
class ClientFeatures implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    // proposedFiles.ts provides the texts, because the user can edit the proposed side
    delete capabilities.workspace?.textDocumentContent;
    // the views and the status bar show the progress; VS Code would show it as a notification over the editor
    delete capabilities.window?.workDoneProgress;
    const agent: Required<AgentCapabilities> = {
      approvals: true,
      questions: true,
      sessions: true,
      editor: true,
      checksEdits: true,
      claimsFiles: true,
      diffs: true,
      incremental: true,
      signIns: true,
    };
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), agent };
  }

  initialize(): void {
    // nothing to set up: handlers are registered on the client
  }

  getState(): { kind: "static" } {
    return { kind: "static" };
  }

  clear(): void {
    // no state
  }
}
