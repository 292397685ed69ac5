// The agent asks the person something: a message that takes no focus, and a row in the Plan view until it is answered.

import * as vscode from "vscode";
import type { AskParams, AskResult } from "./protocol";
import type { Store } from "./state";
import { visible } from "./text";

const TITLE = "Agent: Answer";
const ANSWER = "Answer";

interface Open {
  readonly question: AskParams;
  readonly answer: (answer: string | null) => void;
  /** Closed when the question is withdrawn. */
  box: vscode.QuickInput | undefined;
}

export class Questions {
  private readonly waiting: Open[] = [];

  constructor(private readonly store: Store) {}

  /** Asks, and resolves with the person's answer; a withdrawn question has none. */
  async ask(question: AskParams, withdrawn: vscode.CancellationToken): Promise<AskResult> {
    const answered = new Promise<string | null>((resolve) => {
      this.waiting.push({ question, answer: resolve, box: undefined });
      withdrawn.onCancellationRequested(() => {
        resolve(null);
      });
    });
    this.store.question(question);
    void this.notify(question);
    try {
      return { answer: await answered };
    } finally {
      const index = this.waiting.findIndex((other) => other.question === question);
      if (index >= 0) this.waiting.splice(index, 1)[0]?.box?.hide();
      this.store.settled(question);
    }
  }

  /** Lets the person answer; to close the box is to give no answer. */
  open(question: AskParams): void {
    const open = this.waiting.find((other) => other.question === question);
    if (open && !open.box) open.box = question.options.length > 0 ? pick(question, open.answer) : input(question, open.answer);
  }

  private async notify(question: AskParams): Promise<void> {
    const chosen = await vscode.window.showInformationMessage(`The agent asks: ${visible(question.question)}`, ANSWER);
    if (chosen === ANSWER) this.open(question);
  }
}

type Answer = (answer: string | null) => void;

/** The options, and whatever else is typed. */
function pick({ question, options }: AskParams, answer: Answer): vscode.QuickInput {
  const box = vscode.window.createQuickPick();
  const show = (): void => {
    const given = options.map((option): vscode.QuickPickItem => ({ label: option }));
    const typed = box.value.trim();
    const own = typed === "" || options.includes(typed) ? [] : [{ label: typed, description: "your own answer", alwaysShow: true }];
    box.items = [...given, ...own];
  };
  box.title = TITLE;
  box.placeholder = `${visible(question)} Choose, or type another answer.`;
  box.ignoreFocusOut = true;
  box.onDidChangeValue(show);
  show();
  box.onDidAccept(() => {
    const chosen = box.selectedItems[0]?.label;
    if (chosen !== undefined) answer(chosen);
  });
  return shown(box, answer);
}

function input({ question }: AskParams, answer: Answer): vscode.QuickInput {
  const box = vscode.window.createInputBox();
  box.title = TITLE;
  box.prompt = visible(question);
  box.ignoreFocusOut = true;
  box.onDidAccept(() => {
    if (box.value.trim() !== "") answer(box.value.trim());
  });
  return shown(box, answer);
}

function shown<Box extends vscode.QuickPick<vscode.QuickPickItem> | vscode.InputBox>(box: Box, answer: Answer): Box {
  box.onDidHide(() => {
    answer(null);
    box.dispose();
  });
  box.show();
  return box;
}
