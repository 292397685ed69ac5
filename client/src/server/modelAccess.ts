// Access to a model: an API key, another server, or a cloud. If none is configured, a task asks for it before
// Fairlead's own server is installed or started.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { askForText, pick, showBriefly, type PickTexts } from "../ui/show";
import { DEFAULT_ENDPOINT, hasAccess, settingsFor, urlProblem, type AccessChoice, type AccessSettings } from "./access";
import { saveKey, savedKeys } from "./apiKeys";
import { configuredEndpoint } from "./settings";

const TITLE = t("Agent: Choose a Model");

interface AccessOption extends PickTexts {
  /** Asks for what this kind of access needs. Returns false if the user closes a box or leaves it empty. */
  readonly configure: () => Promise<boolean>;
}

export class ModelAccess {
  constructor(
    private readonly secrets: vscode.SecretStorage,
    /** Whether the window shows the example, which needs no model. */
    private readonly isExample: () => boolean,
  ) {}

  /** Whether access is configured in the settings, the environment or the secret storage, or the example needs none. */
  async isConfigured(): Promise<boolean> {
    if (this.isExample()) return true;
    const keys = await savedKeys(this.secrets);
    return hasAccess(accessSettings(), process.env, keys[configuredEndpoint()]);
  }

  /** Asks for the API key of the endpoint. An empty one removes the key. Returns whether a key was set. */
  async setApiKey(endpoint = configuredEndpoint()): Promise<boolean> {
    const prompt = t("Saved in VS Code's secret storage. Leave it empty to remove the key.");
    const texts = { title: t("Agent: Set API Key"), prompt };
    const key = await askForText(texts, { password: true, ignoreFocusOut: true });
    if (key === undefined) return false;
    const isSet = key.trim() !== "";
    await saveKey(this.secrets, endpoint, isSet ? key.trim() : undefined);
    showBriefly(isSet ? t("The API key is set.") : t("No API key is set."));
    return isSet;
  }

  /** Asks for the kind of access and configures it. Returns false if the user closes a box or leaves it empty. */
  async ask(placeholder = t("Choose how to reach a model. Your task then runs.")): Promise<boolean> {
    const options: AccessOption[] = [
      {
        icon: "key",
        label: t("Anthropic API key"),
        detail: t("Saved in VS Code's secret storage."),
        configure: () => this.configureKey(),
      },
      {
        icon: "server",
        label: t("Local model or another server"),
        detail: t(
          "Any server with the Messages API or an API like OpenAI's, such as Ollama. Most local ones need no key.",
        ),
        configure: () => this.configureServer(),
      },
      {
        icon: "cloud",
        label: "Amazon Bedrock",
        detail: t("Uses your AWS profile, AWS_... variables or AWS_BEARER_TOKEN_BEDROCK."),
        configure: () =>
          configureCloud(
            "bedrock",
            t("The model's inference profile in Amazon Bedrock, such as us.anthropic.claude-...-v1:0."),
          ),
      },
      {
        icon: "cloud",
        label: "Google Vertex AI",
        detail: t("Uses Google's application default credentials."),
        configure: () => configureCloud("vertex", t("The model's name in Vertex AI, such as claude-...@20260901.")),
      },
    ];
    const chosen = await pick(options, { title: TITLE, placeholder }, true);
    return chosen ? chosen.configure() : false;
  }

  private async configureKey(): Promise<boolean> {
    if (!(await this.setApiKey(DEFAULT_ENDPOINT))) return false;
    await apply({ kind: "key" });
    return true;
  }

  private async configureServer(): Promise<boolean> {
    const prompt =
      vscode.env.remoteName === undefined
        ? t("The server's base URL.")
        : t("The server's base URL. “localhost” is the remote machine, where Fairlead runs.");
    const input = { value: "http://localhost:11434", problem: urlProblem, ignoreFocusOut: true };
    const baseUrl = await askForText({ title: TITLE, prompt }, input);
    if (baseUrl === undefined) return false;
    const model = await askModel(t("The model's name, as the server knows it."));
    if (model === undefined) return false;
    if (!(await this.decideOnKey(new URL(baseUrl.trim()).host))) return false;
    await apply({ kind: "server", model, baseUrl: baseUrl.trim() });
    return true;
  }

  /**
   * If an API key is saved, asks whether another server may get it, and removes it if not. Returns false if the user
   * closes the question.
   */
  private async decideOnKey(host: string): Promise<boolean> {
    if (!(await savedKeys(this.secrets))[DEFAULT_ENDPOINT]) return true;
    const remove = { label: t("Remove the saved API key"), detail: t("For a server that needs no key.") };
    const send = { label: t("Send the saved API key to this server"), detail: t("With every request to {0}.", host) };
    const placeholder = t("An API key is saved. May {0} get it?", host);
    const chosen = await pick([remove, send], { title: TITLE, placeholder }, true);
    if (chosen === remove) await saveKey(this.secrets, DEFAULT_ENDPOINT, undefined);
    return chosen !== undefined;
  }
}

async function configureCloud(endpoint: string, prompt: string): Promise<boolean> {
  const model = await askModel(prompt);
  if (model === undefined) return false;
  await apply({ kind: "cloud", model, endpoint });
  return true;
}

async function askModel(prompt: string): Promise<string | undefined> {
  const input = { value: accessSettings().model, ignoreFocusOut: true };
  const model = await askForText({ title: TITLE, prompt }, input);
  return model?.trim() === "" ? undefined : model?.trim();
}

function accessSettings(): AccessSettings & { readonly model: string } {
  const settings = vscode.workspace.getConfiguration("fairlead");
  return {
    endpoint: settings.get("endpoint", ""),
    baseUrl: settings.get("baseUrl", ""),
    replay: settings.get("replay", ""),
    model: settings.get("model", ""),
  };
}

/** Changes the user's settings. */
async function apply(choice: AccessChoice): Promise<void> {
  const configuration = vscode.workspace.getConfiguration("fairlead");
  for (const [key, value] of Object.entries(settingsFor(choice, accessSettings())))
    await configuration.update(key, value, vscode.ConfigurationTarget.Global);
}
