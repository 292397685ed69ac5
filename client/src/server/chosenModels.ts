// The model that the shown session asks, or a new one: what the status bar and the prompt show.

import * as vscode from "vscode";
import type { Store } from "../state/store";
import type { ChosenModel } from "../wire/protocolStates";
import { modelLabel, modelName } from "../ui/modelTexts";
import { endpointTitle } from "./modelRows";
import type { AgentServer } from "./server";

export class ChosenModels implements vscode.Disposable {
  /** What the settings choose, by the server; undefined while it is not running. */
  private byDefault: ChosenModel | undefined;
  private readonly changed = new vscode.EventEmitter<void>();
  /** Fires when the default model changes. The store reports changes of the sessions' models. */
  readonly onDidChange = this.changed.event;
  private readonly subscription: vscode.Disposable;

  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
  ) {
    this.subscription = server.onDidApplySettings(() => void this.update());
  }

  /** The model of the shown session, or of a new one. Its name is empty if it is not known. */
  get current(): ChosenModel {
    return this.store.active?.row?.model ?? this.byDefault ?? configuredModel();
  }

  /** Its name with its effort. If only its server knows it, the one that answered last, or the endpoint. */
  get label(): string {
    const { current } = this;
    const answered = modelName(this.store.active?.model ?? "");
    return [modelLabel(current), answered].find(Boolean) ?? endpointTitle(current.endpoint);
  }

  dispose(): void {
    this.subscription.dispose();
    this.changed.dispose();
  }

  private async update(): Promise<void> {
    this.byDefault = await this.server.defaultModel();
    this.changed.fire();
  }
}

/** The model in the settings. Their defaults are empty, because only the server knows the endpoints' models. */
function configuredModel(): ChosenModel {
  const settings = vscode.workspace.getConfiguration("fairlead");
  return {
    endpoint: settings.get("endpoint", ""),
    model: settings.get("model", ""),
    effort: settings.get("effort", ""),
  };
}
