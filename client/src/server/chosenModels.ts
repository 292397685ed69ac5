// The model that the shown session asks, or a new one: what the status bar and the prompt show.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { Store } from "../state/store";
import type { ChosenModel } from "../wire/protocolStates";
import { modelLabel, modelName } from "../ui/modelTexts";
import type { ModelAccess } from "./modelAccess";
import { PRESETS } from "./modelRows";
import type { AgentServer } from "./server";
import { endpointTitle, ownEndpoints } from "./settings";

export class ChosenModels implements vscode.Disposable {
  /** What the settings choose. */
  private byDefault = configuredModel();
  private readonly changed = new vscode.EventEmitter<void>();
  /** Fires when the default model changes. The store reports changes of the sessions' models. */
  readonly onDidChange = this.changed.event;
  private readonly subscription: vscode.Disposable;

  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    private readonly access: ModelAccess,
  ) {
    const update = (): void => void this.update();
    this.subscription = vscode.Disposable.from(server.onDidApplySettings(update), access.onDidChange(update));
  }

  /** Whether access to a model is set up, or none is needed. */
  get isSet(): boolean {
    return this.access.isSet;
  }

  /** Whether a recording replaces the model in the next run. */
  get isReplayed(): boolean {
    return this.server.isReplaying;
  }

  /** The model of the shown session, or of a new one. Its name is empty if it is not known. */
  get current(): ChosenModel {
    return this.store.active?.row?.model ?? this.byDefault;
  }

  /**
   * Its name with its effort. If only its server knows it, the one that answered last, or the endpoint. `recording` if a
   * recording replaces it.
   */
  get label(): string {
    if (this.isReplayed) return t("recording");
    const { current } = this;
    const answered = modelName(this.store.active?.model ?? "");
    return [modelLabel(current), answered].find(Boolean) ?? endpointTitle(current.endpoint);
  }

  dispose(): void {
    this.subscription.dispose();
    this.changed.dispose();
  }

  private async update(): Promise<void> {
    const byDefault = (await this.server.defaultModel()) ?? configuredModel();
    if (this.access.isAsking) return;
    this.byDefault = byDefault;
    this.changed.fire();
  }
}

/** The model in the settings, as far as it is known without the server. */
function configuredModel(): ChosenModel {
  const settings = vscode.workspace.getConfiguration("fairlead");
  const endpoint = settings.get("endpoint", "");
  const usual = endpoint in ownEndpoints() ? "" : (PRESETS[endpoint]?.model ?? "");
  return { endpoint, model: settings.get<string>("model", "") || usual, effort: settings.get("effort", "") };
}
