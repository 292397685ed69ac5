// The input of a task: a box for one line with earlier tasks below it, or an editor for several lines.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { completionsAt, skillCompletions, type Mentionable } from "../../context/completions";
import { mentionable } from "../../context/contextItems";
import type { ServerOffer, Skill } from "../../wire/protocolStates";
import { setContextKey } from "../../ui/contextKeys";
import { pickBox, showRows, type PickTexts } from "../../ui/show";
import { acceptedPrompt, completedText, promptChoices, type PromptChoice } from "./promptChoices";

const HISTORY_KEY = "fairlead.prompts";
const HISTORY_LIMIT = 50;

export class Prompts {
  /** The text with which the next box starts: a task that was typed but did not run, or a suggested one. */
  private draft = "";
  /** Completes the text in the open box, with the active row of the box. */
  private completeInBox: () => void = () => undefined;

  /**
   * `offers` returns what the tool servers offer, `skills` the skills and commands. `onOpen` is called when the user is about to
   * type a task.
   */
  constructor(
    private readonly memory: vscode.Memento,
    private readonly offers: () => Promise<readonly ServerOffer[]>,
    private readonly skills: () => Promise<readonly Skill[]>,
    private readonly onOpen: () => void,
  ) {}

  /** Asks for a task. Returns undefined if the user closes the box or switches to the editor. */
  async ask(title: string, placeholder = t("What should the agent do?")): Promise<string | undefined> {
    this.onOpen();
    const pick = pickBox<PickTexts & PromptChoice>({ title, placeholder });
    const editorButton = {
      iconPath: new vscode.ThemeIcon("edit"),
      tooltip: t("Write the Task in an Editor (Several Lines)"),
    };
    pick.ignoreFocusOut = true;
    pick.buttons = [editorButton];
    pick.value = this.draft;
    let available: Mentionable | undefined;
    let skills: readonly Skill[] = [];
    let rows: PromptChoice[] = [];
    const updateRows = (): void => {
      const mentions = available ? completionsAt(pick.value, available) : [];
      rows = promptChoices(pick.value, this.history, [...skillCompletions(pick.value, skills), ...mentions]);
      setContextKey(
        "completing",
        rows.some(({ completed }) => completed !== undefined),
      );
      showRows(
        pick,
        rows.map((choice) => ({ ...choice, alwaysShow: true, isHeading: choice.prompt === "" })),
      );
      // VS Code selects the first row, but Enter in an empty box must not run a task
      if (pick.value.trim() === "") pick.activeItems = [];
    };
    // searches the files only when the first mention begins
    const loadMentionable = once(async () => {
      available = await mentionable(this.offers());
      updateRows();
    });
    const loadSkills = once(async () => {
      skills = await this.skills();
      updateRows();
    });
    const onValue = (): void => {
      this.draft = pick.value;
      updateRows();
      if (/[#@]/.test(pick.value)) void loadMentionable();
      if (pick.value.startsWith("/")) void loadSkills();
    };
    const completeWith = (chosen: PromptChoice | undefined): boolean => {
      const completed = completedText(pick.value, chosen, rows);
      if (completed === undefined) return false;
      pick.value = completed;
      onValue();
      return true;
    };
    const completeActive = (): unknown => completeWith(pick.activeItems[0]?.row);
    this.completeInBox = completeActive;
    pick.onDidChangeValue(onValue);
    onValue();
    const prompt = await new Promise<string | undefined>((resolve) => {
      pick.onDidAccept(() => {
        if (completeWith(pick.selectedItems[0]?.row)) return;
        const accepted = acceptedPrompt(pick.value, pick.selectedItems[0]?.row);
        if (accepted !== undefined) resolve(accepted);
      });
      pick.onDidTriggerButton(() => {
        void this.openEditor(pick.value);
        resolve(""); // the text is now in the editor, so it is not a draft
      });
      pick.onDidHide(() => {
        resolve(undefined);
      });
      pick.show();
    });
    if (prompt !== undefined) this.draft = "";
    pick.dispose();
    // not if another box has replaced this one
    if (this.completeInBox === completeActive) {
      this.completeInBox = () => undefined;
      setContextKey("completing", false);
    }
    return prompt === "" ? undefined : prompt;
  }

  /** Completes the text in the open box: the mention at its end, or the skill that it begins with. */
  completeMention(): void {
    this.completeInBox();
  }

  /** Adds a task to the top of the history. */
  async remember(prompt: string): Promise<void> {
    const others = this.history.filter((other) => other !== prompt);
    await this.memory.update(HISTORY_KEY, [prompt, ...others].slice(0, HISTORY_LIMIT));
  }

  /** Sets the text with which the next box starts, such as a task that could not start. */
  setDraft(prompt: string): void {
    this.draft = prompt;
  }

  /** Opens an untitled document for a task of several lines. A button in its title bar runs the task. */
  async openEditor(content: string): Promise<void> {
    const document = await vscode.workspace.openTextDocument({ language: "fairlead-task", content });
    await vscode.window.showTextDocument(document);
  }

  /** The earlier tasks, newest first. */
  get history(): readonly string[] {
    return this.memory.get<string[]>(HISTORY_KEY, []);
  }
}

/** Returns a function that calls `run` the first time, and then returns the same result. */
function once(run: () => Promise<void>): () => Promise<void> {
  let result: Promise<void> | undefined;
  return () => (result ??= run());
}
