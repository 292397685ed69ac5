// Asking the person for a task: one line, earlier ones within reach, or an editor for several lines.

import * as vscode from "vscode";

const HISTORY_KEY = "fairlead.prompts";
const HISTORY_LIMIT = 50;

interface Choice extends vscode.QuickPickItem {
  readonly prompt: string;
}

export class Prompts {
  constructor(private readonly memory: vscode.Memento) {}

  /** Asks for a task. Undefined where the person thought better of it, or went to write it in an editor. */
  async ask(title: string): Promise<string | undefined> {
    const pick = vscode.window.createQuickPick<Choice>();
    const inEditor = { iconPath: new vscode.ThemeIcon("edit"), tooltip: "Write it in an editor (several lines)" };
    pick.title = title;
    pick.placeholder = "What should be done?";
    pick.ignoreFocusOut = true;
    pick.buttons = [inEditor];
    const show = (): void => {
      pick.items = this.choices(pick.value);
    };
    pick.onDidChangeValue(show);
    show();
    const prompt = await new Promise<string | undefined>((resolve) => {
      pick.onDidAccept(() => {
        resolve(pick.value.trim() === "" ? pick.selectedItems[0]?.prompt : (pick.selectedItems[0]?.prompt ?? pick.value));
      });
      pick.onDidTriggerButton(() => {
        void this.openEditor(pick.value);
        resolve(undefined);
      });
      pick.onDidHide(() => {
        resolve(undefined);
      });
      pick.show();
    });
    pick.dispose();
    const trimmed = prompt?.trim() ?? "";
    return trimmed === "" ? undefined : trimmed;
  }

  /** Puts a task at the top of the history. */
  async remember(prompt: string): Promise<void> {
    const others = this.history.filter((other) => other !== prompt);
    await this.memory.update(HISTORY_KEY, [prompt, ...others].slice(0, HISTORY_LIMIT));
  }

  /** An untitled document for a task of several lines; its title bar has the button that runs it. */
  async openEditor(content: string): Promise<void> {
    const document = await vscode.workspace.openTextDocument({ language: "fairlead-task", content });
    await vscode.window.showTextDocument(document);
  }

  private get history(): string[] {
    return this.memory.get<string[]>(HISTORY_KEY, []);
  }

  private choices(value: string): Choice[] {
    const typed: Choice[] = value.trim() === "" ? [] : [{ label: `$(play) ${value}`, prompt: value, alwaysShow: true }];
    const earlier = this.history
      .filter((prompt) => prompt !== value)
      .map((prompt): Choice => ({ label: `$(history) ${prompt.replace(/\s+/g, " ")}`, prompt, alwaysShow: value === "" }));
    return [...typed, ...earlier];
  }
}
