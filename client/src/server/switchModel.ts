// Lets the user choose the model and its effort from a list, and writes them to the user's settings.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { modelChoices, withChosen, type ModelChoice } from "./modelChoices";

/** The search in the settings editor for the settings that decide which model answers. */
const MODEL_SETTINGS = "@id:fairlead.model,fairlead.effort,fairlead.provider,fairlead.baseUrl";
const CHOSEN_KEY = "fairlead.chosenModels";

/** Asks for a model or an effort, and saves the choice. `memory` has the models that were chosen before. */
export async function switchModel(memory: vscode.Memento): Promise<void> {
  const settings = vscode.workspace.getConfiguration("fairlead");
  const current = { model: settings.get("model", ""), effort: settings.get("effort", "") };
  const earlier = memory.get<string[]>(CHOSEN_KEY, []);
  const known = [...earlier, settings.inspect<string>("model")?.defaultValue ?? ""];
  const rows = modelChoices(current.model, current.effort, known).map((choice) => ({
    label: choice.label,
    kind: choice.kind === "heading" ? vscode.QuickPickItemKind.Separator : vscode.QuickPickItemKind.Default,
    choice,
  }));
  const chosen = await vscode.window.showQuickPick(rows, {
    title: t("Agent: Switch Model"),
    placeHolder: t("The next task uses it."),
  });
  if (chosen)
    await apply(chosen.choice, current.model, async (model) => {
      await memory.update(CHOSEN_KEY, withChosen(model, withChosen(current.model, earlier)));
    });
}

async function apply(choice: ModelChoice, current: string, remember: (model: string) => Promise<void>): Promise<void> {
  switch (choice.kind) {
    case "settings":
      await vscode.commands.executeCommand("workbench.action.openSettings", MODEL_SETTINGS);
      return;
    case "other": {
      const model = await vscode.window.showInputBox({
        title: t("Agent: Switch Model"),
        prompt: t("The model's name, as the server knows it."),
        value: current,
      });
      if (model?.trim())
        await apply({ kind: "setting", name: "model", value: model.trim(), label: "" }, current, remember);
      return;
    }
    case "setting":
      await vscode.workspace
        .getConfiguration("fairlead")
        .update(choice.name, choice.value, vscode.ConfigurationTarget.Global);
      if (choice.name === "model") await remember(choice.value);
      return;
    case "heading":
  }
}
