// Sets up the access to a model without a task: asks how to reach the model, and tests it with a small request.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { method, type RunError } from "../wire/protocol";
import { actionLabel, errorActions, type ErrorAction } from "./errorActions";
import type { ErrorHelp } from "./errorHelp";
import { messageOf, NotStarted } from "./errors";
import type { ModelAccess } from "./modelAccess";
import type { AgentServer } from "./server";
import { configuredEndpoint, takesKey } from "./settings";
import { modelName } from "../ui/modelTexts";
import { showBriefly, showError, showInformation, withProgressIfLong } from "../ui/show";

/** What “Choose Again” does. */
const OTHER_WAYS: readonly ErrorAction["kind"][] = ["chooseModel", "setUpModel"];

/** Asks for the kind of access, then tests it. `isPromptVisible`: whether the user sees where to type a task. */
export async function setUpModel(
  access: ModelAccess,
  server: AgentServer,
  help: ErrorHelp,
  isPromptVisible: () => boolean,
): Promise<void> {
  const setUp = async (): Promise<void> => {
    if (await access.ask(t("Choose how to reach a model. A small request then tests it."))) await test();
  };
  const test = (): Promise<void> => testModel(server, help, isPromptVisible, setUp, test);
  await setUp();
}

async function testModel(
  server: AgentServer,
  help: ErrorHelp,
  isPromptVisible: () => boolean,
  setUp: () => Promise<void>,
  testAgain: () => Promise<void>,
): Promise<void> {
  let failure: RunError | null = null;
  try {
    await server.sendApiKey();
    // has a progress message of its own
    await server.ensurePackages(configuredEndpoint());
    const { model, works, message, error } = await withProgressIfLong(
      t("Fairlead: waiting for the model's answer"),
      server.request(method.tryModel, {}),
    );
    failure = error;
    if (!works) throw new Error(message);
    const answers = t("{0} answers.", modelName(model));
    if (isPromptVisible()) {
      // a message would cover the prompt
      showBriefly(answers);
      return;
    }
    const chosen = await showInformation(answers, t("Run Task"));
    if (chosen === t("Run Task")) await vscode.commands.executeCommand("fairlead.runTask");
  } catch (error) {
    if (error instanceof NotStarted) return;
    // “Choose Again” is about new sessions too, unlike the picker while a session is shown
    const actions = errorActions(failure, takesKey()).filter(({ kind }) => !OTHER_WAYS.includes(kind));
    const chosen = await showError(
      t("The model cannot be used. {0}", messageOf(error)),
      ...actions.map(actionLabel),
      t("Choose Again"),
      t("Test Again"),
    );
    if (chosen === t("Choose Again")) await setUp();
    if (chosen === t("Test Again")) await testAgain();
    const action = actions.find((each) => actionLabel(each) === chosen);
    const tried = action && (await server.defaultModel());
    if (tried && (await help.perform(action, tried, undefined))) await testAgain();
  }
}
