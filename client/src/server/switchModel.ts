// Lets the user choose the model and its effort from a list, and writes them to the user's settings.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { askForText, pick } from "../ui/show";
import { modelChoices, withChosen, type ModelChoice } from "./modelChoices";

/** The search in the settings editor for the settings that decide which model answers. */
const MODEL_SETTINGS = "@id:fairlead.model,fairlead.effort,fairlead.endpoint,fairlead.endpoints,fairlead.baseUrl";
const CHOSEN_KEY = "fairlead.chosenModels";

/** Asks for a model or an effort, and saves the choice. `memory` has the models that were chosen before. */
export async function switchModel(memory: vscode.Memento): Promise<void> {
  const settings = vscode.workspace.getConfiguration("fairlead");
  const current = { model: settings.get("model", ""), effort: settings.get("effort", "") };
  const earlier = memory.get<string[]>(CHOSEN_KEY, []);
  const rows = modelChoices(current.model, current.effort, earlier).map((choice) => ({
    label: choice.label,
    icon: choice.kind === "setting" && choice.isCurrent ? "check" : "",
    isHeading: choice.kind === "heading",
    choice,
  }));
  const chosen = await pick(rows, {
    title: t("Agent: Switch Model"),
    placeholder: t("The next task uses it."),
  });
  if (chosen)
    await apply(chosen.choice, current.model, async (model) => {
      const others = current.model === "" ? earlier : withChosen(current.model, earlier);
      await memory.update(CHOSEN_KEY, withChosen(model, others));
    });
}

async function apply(choice: ModelChoice, current: string, remember: (model: string) => Promise<void>): Promise<void> {
  switch (choice.kind) {
    case "settings":
      await vscode.commands.executeCommand("workbench.action.openSettings", MODEL_SETTINGS);
      return;
    case "other": {
      const texts = { title: t("Agent: Switch Model"), prompt: t("The model's name, as the server knows it.") };
      const model = await askForText(texts, { value: current });
      if (model?.trim()) await applySetting("model", model.trim(), remember);
      return;
    }
    case "setting":
      await applySetting(choice.name, choice.value, remember);
      return;
    case "heading":
  }
}

async function applySetting(
  name: "model" | "effort",
  value: string,
  remember: (model: string) => Promise<void>,
): Promise<void> {
  await vscode.workspace.getConfiguration("fairlead").update(name, value, vscode.ConfigurationTarget.Global);
  if (name === "model" && value !== "") await remember(value);
}
