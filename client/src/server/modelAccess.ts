// Access to a model: a key, a server, or a sign-in to a cloud. If none is configured, a task asks for it before Fairlead's
// own server is installed or started.

import { isDeepStrictEqual } from "node:util";
import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { method, type Endpoint } from "../wire/protocol";
import type { ChosenModel } from "../wire/protocolStates";
import { askForText, pick, pickBox, showBriefly, showRows, type PickTexts } from "../ui/show";
import {
  DEFAULT_ENDPOINT,
  hasAccess,
  settingsFor,
  typedUrl,
  urlProblem,
  type AccessChoice,
  type ModelSettings,
} from "./access";
import { saveKey, savedKeys } from "./apiKeys";
import { setContextKey } from "../ui/contextKeys";
import { NotStarted } from "./errors";
import {
  accessRows,
  endpointOfKey,
  LOCAL_ENDPOINTS,
  modelNameProblem,
  modelRows,
  presetAt,
  PRESETS,
  usable,
  type AccessRow,
} from "./modelRows";
import type { AgentServer } from "./server";
import { configuredEndpoint, endpointTitle, ownEndpoints, takesKey } from "./settings";

const TITLE = t("Agent: Set Up Model");
const ICONS: Readonly<Record<AccessRow["kind"], string>> = {
  heading: "",
  found: "pass",
  key: "key",
  azure: "key",
  local: "server",
  address: "globe",
  cloud: "cloud",
};

/** A model and its endpoint. */
type Choice = Pick<ChosenModel, "endpoint" | "model">;

export class ModelAccess implements vscode.Disposable {
  private lastKnown = true;
  /** How many calls of `ask` have not ended yet: a box that opens closes another one. */
  private asking = 0;
  /** Resolves when the settings are again as they were before the boxes that the user has closed. */
  private restored: Promise<void> = Promise.resolve();
  private readonly changed = new vscode.EventEmitter<void>();
  /** Fires after `isSet` may have changed. */
  readonly onDidChange = this.changed.event;
  private readonly subscription: vscode.Disposable;

  constructor(
    private readonly secrets: vscode.SecretStorage,
    private readonly server: AgentServer,
    /** Whether the window shows the example, which needs no model. */
    private readonly isExample: () => boolean,
    /** Ends a recording that replaces the model. */
    private readonly endRecording: () => Promise<void>,
  ) {
    const check = (): void => void this.check();
    this.subscription = vscode.Disposable.from(
      secrets.onDidChange(check),
      vscode.workspace.onDidChangeConfiguration(check),
    );
    check();
  }

  /** Whether access was configured when that was last checked. True before the first check. */
  get isSet(): boolean {
    return this.lastKnown;
  }

  /** Whether the server that reaches the model could not be started. */
  get hasServerFailed(): boolean {
    return this.server.hasFailed;
  }

  /** Whether the user is being asked. The settings may then name an endpoint that has yet to be confirmed. */
  get isAsking(): boolean {
    return this.asking > 0;
  }

  dispose(): void {
    this.subscription.dispose();
    this.changed.dispose();
  }

  /** Whether access is configured in the settings, the environment or the secret storage, or the example needs none. */
  async isConfigured(): Promise<boolean> {
    return this.isExample() || (await this.hasOwnAccess());
  }

  private async check(): Promise<void> {
    const hasOwn = await this.hasOwnAccess();
    setContextKey("modelSet", hasOwn);
    this.lastKnown = hasOwn || this.isExample();
    this.changed.fire();
  }

  private async hasOwnAccess(): Promise<boolean> {
    const keys = await savedKeys(this.secrets);
    const settings = { ...accessSettings(), replay: vscode.workspace.getConfiguration("fairlead").get("replay", "") };
    return hasAccess(settings, process.env, keys[configuredEndpoint()]);
  }

  /**
   * Asks for the API key of the endpoint. An empty one removes the key. Returns the endpoint whose key was set, which is
   * another one if the user prefers the provider to which the key belongs; undefined if none was set. `refusal`: what
   * the endpoint's server said when it refused the key until now.
   */
  async setApiKey(endpoint = configuredEndpoint(), refusal = ""): Promise<string | undefined> {
    const isSaved = (await savedKeys(this.secrets))[endpoint] !== undefined;
    const { endpoint: named, baseUrl } = accessSettings();
    const isAddress = named === "" && baseUrl !== "" && endpoint === DEFAULT_ENDPOINT;
    const prompt = [
      refusal && t("The API key was refused. ({0})", refusal),
      t("The API key for {0}. Saved in VS Code's secret storage.", endpointTitle(endpoint)),
      isSaved && t("Leave it empty to remove the key."),
    ];
    const texts = { title: t("Agent: Set API Key"), prompt: prompt.filter(Boolean).join(" ") };
    const key = (await askForText(texts, { password: true, ignoreFocusOut: true }))?.trim();
    if (key === undefined) return undefined;
    const owner = isAddress ? endpoint : await chooseOwner(key, endpoint);
    if (owner === undefined) return undefined;
    await saveKey(this.secrets, owner, key === "" ? undefined : key);
    showBriefly(key === "" ? t("No API key is set.") : t("The API key is set."));
    return key === "" ? undefined : owner;
  }

  /**
   * Moves the key of an endpoint to the one that it belongs to, and lets the user choose a model there if there is no
   * default. If the settings use the former, they use the latter from then on. Returns the model; undefined if the user
   * closes a box.
   */
  async useKeyOf(endpoint: string, former: string): Promise<Choice | undefined> {
    const key = (await savedKeys(this.secrets))[former];
    if (key !== undefined && endpointOfKey(key) === endpoint) {
      await saveKey(this.secrets, endpoint, key);
      await saveKey(this.secrets, former, undefined);
    } else if ((await savedKeys(this.secrets))[endpoint] === undefined && !(await this.setApiKey(endpoint))) {
      return undefined;
    }
    const isDefault = former === configuredEndpoint();
    const chosen = await this.modelOf(endpoint);
    if (!chosen) return undefined;
    if (isDefault) await apply(chosen);
    await this.server.sendApiKey();
    await this.server.ensurePackages(chosen.endpoint);
    return chosen;
  }

  /**
   * Asks for the kind of access and configures it. Returns false if the user closes a box or leaves it empty; the
   * settings are then as before.
   */
  async ask(placeholder = t("Choose how to reach a model. Your task then runs.")): Promise<boolean> {
    this.asking += 1;
    try {
      const row = await this.pickAccess(placeholder);
      await this.restored;
      return row !== undefined && (await this.tryConfigure(row));
    } finally {
      this.asking -= 1;
      this.changed.fire();
    }
  }

  /** Configures a kind of access. If the user closes a box, restores the settings and returns false. */
  private async tryConfigure(row: AccessRow): Promise<boolean> {
    const [before, endpoints] = [accessSettings(), ownEndpoints()];
    let isDone = false;
    try {
      isDone = await this.configure(row);
      if (isDone) await this.useModel();
    } catch (error) {
      // the user has seen why the server could not start
      if (!(error instanceof NotStarted)) throw error;
    } finally {
      if (!isDone) {
        this.restored = write(before).then(() => writeEndpoints(endpoints));
        await this.restored;
      }
    }
    return isDone;
  }

  /** From now on, the model answers, also where a recording replaced it. */
  private async useModel(): Promise<void> {
    await this.endRecording();
    await this.check();
    await this.server.sendSettings();
  }

  /** Lets the user choose a kind of access. Adds what the server finds on this machine, if it is installed. */
  private pickAccess(placeholder: string): Promise<AccessRow | undefined> {
    const box = pickBox<PickTexts & { row: AccessRow }>({ title: TITLE, placeholder });
    const draw = (endpoints: readonly Endpoint[]): void => {
      const rows = accessRows(endpoints).map((row) => {
        return { ...row, icon: ICONS[row.kind], isHeading: row.kind === "heading", row };
      });
      showRows(box, rows, ({ label }, other) => label === other.label);
    };
    const find = async (): Promise<void> => {
      if (!(await this.server.isInstalled())) return;
      box.busy = true;
      // what the server cannot list, the user can still set up
      const own = Object.keys(ownEndpoints());
      const params = { ask: [...LOCAL_ENDPOINTS, ...own], refresh: true };
      const { endpoints } = await this.server.request(method.models, params).catch(() => ({ endpoints: [] }));
      box.busy = false;
      draw(endpoints);
    };
    Object.assign(box, { ignoreFocusOut: true, matchOnDescription: true, keepScrollPosition: true });
    draw([]);
    box.show();
    void find();
    return new Promise((resolve) => {
      box.onDidAccept(() => {
        resolve(box.selectedItems[0]?.row.row);
        box.hide();
      });
      box.onDidHide(() => {
        resolve(undefined);
        box.dispose();
      });
    });
  }

  private async configure(row: AccessRow): Promise<boolean> {
    switch (row.kind) {
      case "key":
        return this.configureKey(row.endpoint);
      case "found":
        await apply({ endpoint: row.endpoint });
        return this.chooseModelOf(row.endpoint);
      case "local":
        return this.configureLocal();
      case "address":
        return this.configureAddress();
      case "azure":
        return this.configureAzure(row.endpoint);
      case "cloud":
        return configureCloud(row.endpoint);
      case "heading":
        return false;
    }
  }

  private async configureKey(endpoint: string): Promise<boolean> {
    const owner = await this.setApiKey(endpoint);
    return owner !== undefined && this.useEndpoint(owner);
  }

  private async useEndpoint(endpoint: string): Promise<boolean> {
    await apply({ endpoint });
    return PRESETS[endpoint]?.model !== undefined || accessSettings().model !== "" || this.chooseModelOf(endpoint);
  }

  private async configureAzure(endpoint: string): Promise<boolean> {
    const input = { value: "https://", problem: urlProblem, ignoreFocusOut: true };
    const prompt = t("The address of your resource, such as https://NAME.openai.azure.com.");
    const baseUrl = await askForText({ title: TITLE, prompt }, input);
    if (baseUrl === undefined) return false;
    const owner = await this.setApiKey(endpoint);
    if (owner !== endpoint) return owner !== undefined && this.useEndpoint(owner);
    const model = await askModel(t("The name of your deployment."));
    if (model === undefined) return false;
    await apply({ endpoint, baseUrl: typedUrl(baseUrl), model });
    return true;
  }

  /** Lets the user choose a model of the local servers that answer at their usual ports, or enter an address. */
  private async configureLocal(): Promise<boolean> {
    const { endpoints } = await this.server.request(method.models, { ask: [...LOCAL_ENDPOINTS], refresh: true });
    const found = usable(endpoints).filter(({ local }) => local);
    if (found.length === 0) return this.configureAddress(t("No local server answers at its usual port."));
    const rows = found.flatMap((endpoint) => [
      { label: endpoint.title, isHeading: true, row: undefined },
      ...modelRows(endpoint, undefined).map((row) => ({ ...row, row })),
    ]);
    const other = { label: t("Another Address..."), icon: "globe", row: undefined };
    const placeholder = t("Choose a model of a server that answers.");
    const chosen = await pick([...rows, other], { title: TITLE, placeholder }, true);
    if (!chosen) return false;
    if (!chosen.row) return this.configureAddress();
    await apply({ endpoint: chosen.row.endpoint, model: chosen.row.model });
    return true;
  }

  /** Asks for an address, which becomes an endpoint of its own, with its own key, unless it is one that Fairlead knows. */
  private async configureAddress(
    introduction = "",
    value = ownAddress() ?? "http://localhost:11434",
  ): Promise<boolean> {
    const question =
      vscode.env.remoteName === undefined
        ? t("The server's base URL.")
        : t("The server's base URL. “localhost” is the remote machine, where Fairlead runs.");
    const input = { value, problem: urlProblem, ignoreFocusOut: true };
    const prompt = [introduction, question].filter(Boolean).join(" ");
    const typed = await askForText({ title: TITLE, prompt }, input);
    if (typed === undefined) return false;
    const baseUrl = typedUrl(typed);
    const known = presetAt(baseUrl);
    if (known !== undefined && takesKey(known) && PRESETS[known]?.kind !== "local") return this.configureKey(known);
    const { host } = new URL(baseUrl);
    const endpoint = known ?? host.replace(/[^\w.]+/g, "-");
    const own = ownEndpoints();
    if (known === undefined) await writeEndpoints({ ...own, [endpoint]: { title: host, ...own[endpoint], baseUrl } });
    await apply({ endpoint });
    const group = await this.listed(endpoint);
    if (group?.answers === false) return this.configureAddress(group.problem, typed);
    return this.chooseModelOf(endpoint);
  }

  private async chooseModelOf(endpoint: string): Promise<boolean> {
    const chosen = await this.pickModelOf(endpoint);
    if (!chosen) return false;
    if (chosen.endpoint === endpoint) await write({ ...accessSettings(), model: chosen.model });
    else await apply(chosen);
    return true;
  }

  /** The default model of an endpoint. If it has none, lets the user choose. */
  private modelOf(endpoint: string): Promise<Choice | undefined> {
    const model = PRESETS[endpoint]?.model;
    return model === undefined ? this.pickModelOf(endpoint) : Promise.resolve({ endpoint, model });
  }

  private async listed(endpoint: string): Promise<Endpoint | undefined> {
    await this.server.sendApiKey();
    const { endpoints } = await this.server.request(method.models, { ask: [endpoint], refresh: true });
    return endpoints.find(({ name }) => name === endpoint);
  }

  /**
   * Lets the user choose a model of an endpoint whose settings are applied. If the server lists none, asks for the name.
   * If the server wants a key or refuses it, asks for one first. It may turn out to be that of another endpoint.
   */
  private async pickModelOf(endpoint: string): Promise<Choice | undefined> {
    const group = await this.listed(endpoint);
    if (group?.needsKey || group?.keyRefusal) {
      const owner = await this.setApiKey(endpoint, group.keyRefusal);
      if (owner === undefined) return undefined;
      return owner === endpoint ? this.pickModelOf(endpoint) : this.modelOf(owner);
    }
    const models = group?.problem === "" ? modelRows(group, undefined) : [];
    const [only] = models;
    if (only && models.length === 1) return { endpoint, model: only.model };
    if (models.length > 0) {
      const other = { label: t("Other Model..."), icon: "edit", model: undefined };
      const placeholder = t("Choose a model.");
      const row = await pick([...models, other], { title: TITLE, placeholder }, true);
      if (!row) return undefined;
      if (row.model !== undefined) return { endpoint, model: row.model };
    }
    const question = t("The model's name, as the server knows it.");
    const model = await askModel([group?.problem ?? "", question].filter(Boolean).join(" "));
    return model === undefined ? undefined : { endpoint, model };
  }
}

const CLOUD_PROMPTS: Readonly<Record<string, string>> = {
  bedrock: t("The model's inference profile in Amazon Bedrock, such as us.anthropic.claude-...-v1:0."),
  vertex: t("The model's name in Vertex AI, such as claude-...@20260901."),
};

async function configureCloud(endpoint: string): Promise<boolean> {
  const model = await askModel(CLOUD_PROMPTS[endpoint] ?? t("The model's name, as the server knows it."));
  if (model === undefined) return false;
  await apply({ endpoint, model });
  return true;
}

/**
 * Returns the endpoint that a key is for. If its form tells that it belongs to another provider, asks the user; undefined
 * if they close the question.
 */
async function chooseOwner(key: string, endpoint: string): Promise<string | undefined> {
  const owner = endpointOfKey(key);
  if (owner === undefined || owner === endpoint || PRESETS[endpoint] === undefined) return endpoint;
  const title = endpointTitle(owner);
  const placeholder = t("This looks like a key of {0}.", title);
  const other = { label: t("Use {0}", title), endpoint: owner };
  const anyway = { label: t("Use It Anyway"), detail: t("With {0}.", endpointTitle(endpoint)), endpoint };
  return (await pick([other, anyway], { title: t("Agent: Set API Key"), placeholder }, true))?.endpoint;
}

async function askModel(prompt: string): Promise<string | undefined> {
  const input = { value: accessSettings().model, problem: modelNameProblem, ignoreFocusOut: true };
  const model = await askForText({ title: TITLE, prompt }, input);
  return model?.trim() === "" ? undefined : model?.trim();
}

function accessSettings(): Record<"endpoint" | "baseUrl" | "model", string> {
  const settings = vscode.workspace.getConfiguration("fairlead");
  return {
    endpoint: settings.get("endpoint", ""),
    baseUrl: settings.get("baseUrl", ""),
    model: settings.get("model", ""),
  };
}

async function writeEndpoints(wanted: ReturnType<typeof ownEndpoints>): Promise<void> {
  if (isDeepStrictEqual(wanted, ownEndpoints())) return;
  const value = Object.keys(wanted).length > 0 ? wanted : undefined;
  await vscode.workspace.getConfiguration("fairlead").update("endpoints", value, vscode.ConfigurationTarget.Global);
}

/** The address of the endpoint in use that the user has entered. */
function ownAddress(): string | undefined {
  const { endpoint, baseUrl } = accessSettings();
  return baseUrl || ownEndpoints()[endpoint]?.baseUrl;
}

const apply = (choice: AccessChoice): Promise<void> => write(settingsFor(choice, accessSettings()));

/** Changes the user's settings to these. */
async function write(wanted: ModelSettings): Promise<void> {
  const configuration = vscode.workspace.getConfiguration("fairlead");
  for (const [key, value] of Object.entries(wanted))
    if ((value ?? "") !== configuration.get(key, ""))
      await configuration.update(key, value === "" ? undefined : value, vscode.ConfigurationTarget.Global);
}
