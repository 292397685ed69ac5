// Does what the buttons after a failure of the model say.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { method } from "../wire/protocol";
import type { ChosenModel } from "../wire/protocolStates";
import type { ErrorAction } from "./errorActions";
import type { ModelAccess } from "./modelAccess";
import type { ModelPicker } from "./modelPicker";
import type { AgentServer } from "./server";

/** The search in the settings editor for the settings of the proxy. */
const PROXY_SETTINGS = "@id:http.proxy,http.proxySupport,http.noProxy";
/** The search in the settings editor for the region and the project of a cloud. */
const CLOUD_SETTINGS = "@id:fairlead.cloud.region,fairlead.cloud.project";

export class ErrorHelp {
  constructor(
    private readonly server: AgentServer,
    private readonly access: ModelAccess,
    private readonly picker: ModelPicker,
    /** Lets the user sign in to the hosted agent of a session. Returns whether that has succeeded. */
    private readonly signIn: (sessionId: string | undefined) => Promise<boolean>,
  ) {}

  /**
   * Performs an action after `model` has failed, for a session or else for new ones. Returns whether the request can now
   * be tried again.
   */
  async perform(action: ErrorAction, model: ChosenModel, sessionId: string | undefined): Promise<boolean> {
    switch (action.kind) {
      case "useModel":
        await this.useModel(action.model, model, sessionId);
        return true;
      case "useKeyOf":
        return this.useKeyOf(action.endpoint, model, sessionId);
      case "setKey":
        if (!(await this.setKey(model, sessionId))) return false;
        await this.server.sendApiKey();
        return true;
      case "chooseModel":
        return this.picker.choose();
      case "setUpModel":
      case "setUpFirst":
        if (!(await this.access.ask(t("Choose how to reach a model. The task then continues.")))) return false;
        await this.server.sendApiKey();
        if (sessionId !== undefined) await this.server.request(method.chooseModel, { sessionId });
        return true;
      case "signIn":
        return this.signIn(sessionId);
      case "chooseAgent":
        await vscode.commands.executeCommand("fairlead.chooseAgent");
        return false;
      case "showLog":
        await vscode.commands.executeCommand("fairlead.showLog");
        return false;
      case "openExample":
        await vscode.commands.executeCommand("fairlead.openExample");
        return false;
      case "proxySettings":
        await vscode.commands.executeCommand("workbench.action.openSettings", PROXY_SETTINGS);
        return false;
      case "cloudSettings":
        await vscode.commands.executeCommand("workbench.action.openSettings", CLOUD_SETTINGS);
        return false;
      case "openAccount":
        await vscode.env.openExternal(vscode.Uri.parse(action.url));
        return false;
    }
  }

  /** Uses another model of the same endpoint, also by default if the settings have the one that failed. */
  private async useModel(name: string, failed: ChosenModel, sessionId: string | undefined): Promise<void> {
    const byDefault = await this.server.defaultModel();
    await this.picker.use({ ...failed, model: name }, sessionId);
    if (sessionId === undefined || byDefault?.endpoint !== failed.endpoint || byDefault.model !== failed.model) return;
    await this.picker.makeDefault({ endpoint: failed.endpoint, model: name });
  }

  /**
   * Asks for the key of a model's endpoint. If the user enters that of another provider and prefers that, continues with
   * one of its models. Returns whether a key was set.
   */
  async setKey(model: ChosenModel, sessionId: string | undefined): Promise<boolean> {
    const endpoint = await this.access.setApiKey(model.endpoint || undefined);
    if (endpoint === undefined) return false;
    const isOther = model.endpoint !== "" && endpoint !== model.endpoint;
    return !isOther || this.useKeyOf(endpoint, model, sessionId);
  }

  private async useKeyOf(endpoint: string, model: ChosenModel, sessionId: string | undefined): Promise<boolean> {
    const chosen = await this.access.useKeyOf(endpoint, model.endpoint);
    if (!chosen) return false;
    if (sessionId !== undefined) await this.picker.use(chosen, sessionId);
    return true;
  }
}
