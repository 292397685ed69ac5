// Sets up the access to a model without a task: asks how to reach the model, and tests it with a small request.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { method } from "../wire/protocol";
import { messageOf, NotStarted } from "./errors";
import type { ModelAccess } from "./modelAccess";
import type { AgentServer } from "./server";
import { configuredEndpoint, takesKey } from "./settings";
import { setContextKey } from "../ui/contextKeys";
import { showError, showInformation, withProgress } from "../ui/show";

/** Asks for the kind of access, then tests it. */
export async function setUpModel(access: ModelAccess, server: AgentServer): Promise<void> {
  if (await access.ask(t("Choose how to reach a model. A small request then tests it.")))
    await testModel(access, server);
}

async function testModel(access: ModelAccess, server: AgentServer): Promise<void> {
  try {
    const { model, works, message } = await withProgress(
      { title: t("Fairlead: waiting for the model's answer") },
      async () => {
        await server.sendApiKey();
        await server.ensurePackages(configuredEndpoint());
        return server.request(method.tryModel, {});
      },
    );
    if (!works) throw new Error(message);
    setContextKey("modelTested", true);
    const chosen = await showInformation(t("{0} answers.", model), t("Run Task"));
    if (chosen === t("Run Task")) await vscode.commands.executeCommand("fairlead.runTask");
  } catch (error) {
    if (error instanceof NotStarted) return;
    const chosen = await showError(
      t("The model cannot be used. {0}", messageOf(error)),
      ...(takesKey() ? [t("Set API Key")] : []),
      t("Choose Again"),
      t("Test Again"),
    );
    if (chosen === t("Set API Key") && (await access.setApiKey())) await testModel(access, server);
    if (chosen === t("Choose Again")) await setUpModel(access, server);
    if (chosen === t("Test Again")) await testModel(access, server);
  }
}
