// Asks the user for a task: one line, with earlier tasks below it, or an editor for several lines.

import * as vscode from "vscode";
import { acceptedPrompt, promptChoices, type PromptChoice } from "./promptChoices";

const HISTORY_KEY = "fairlead.prompts";
const HISTORY_LIMIT = 50;

export class Prompts {
  /** A task that was typed and did not run: the next box begins with it. */
  private draft = "";

  constructor(private readonly memory: vscode.Memento) {}

  /** Asks for a task. Undefined where the user closed the box, or went to write it in an editor. */
  async ask(title: string): Promise<string | undefined> {
    const pick = vscode.window.createQuickPick<vscode.QuickPickItem & PromptChoice>();
    const inEditor = { iconPath: new vscode.ThemeIcon("edit"), tooltip: "Write it in an editor (several lines)" };
    pick.title = title;
    pick.placeholder = "What should be done?";
    pick.ignoreFocusOut = true;
    pick.buttons = [inEditor];
    pick.value = this.draft;
    const show = (): void => {
      pick.items = promptChoices(pick.value, this.history).map((choice) => ({
        ...choice,
        alwaysShow: true,
        kind: choice.prompt === "" ? vscode.QuickPickItemKind.Separator : vscode.QuickPickItemKind.Default,
      }));
      // VS Code marks the first row, and Enter in an empty box must run none
      if (pick.value.trim() === "") pick.activeItems = [];
    };
    pick.onDidChangeValue(show);
    show();
    const prompt = await new Promise<string | undefined>((resolve) => {
      pick.onDidAccept(() => {
        const accepted = acceptedPrompt(pick.value, pick.selectedItems[0]);
        if (accepted !== undefined) resolve(accepted);
      });
      pick.onDidTriggerButton(() => {
        void this.openEditor(pick.value);
        resolve("");
      });
      pick.onDidHide(() => {
        resolve(undefined);
      });
      pick.show();
    });
    this.draft = prompt === undefined ? pick.value : "";
    pick.dispose();
    return prompt === "" ? undefined : prompt;
  }

  /** Puts a task at the top of the history. */
  async remember(prompt: string): Promise<void> {
    const others = this.history.filter((other) => other !== prompt);
    await this.memory.update(HISTORY_KEY, [prompt, ...others].slice(0, HISTORY_LIMIT));
  }

  /** The task could not be started: the next box begins with it. */
  setDraft(prompt: string): void {
    this.draft = prompt;
  }

  /** An untitled document for a task of several lines; its title bar has the button that runs it. */
  async openEditor(content: string): Promise<void> {
    const document = await vscode.workspace.openTextDocument({ language: "fairlead-task", content });
    await vscode.window.showTextDocument(document);
  }

  private get history(): string[] {
    return this.memory.get<string[]>(HISTORY_KEY, []);
  }
}
