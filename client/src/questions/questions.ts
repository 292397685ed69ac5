// The agent's pending questions. A question stays until it is answered or withdrawn. The store makes it appear as a row, a notice and
// in the status bar.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { AskParams, AskResult } from "../protocol";
import type { Store } from "../state";
import { nameOf } from "./noticeTexts";
import { openRequests } from "./waiting";
import { escapeInvisible } from "../ui/text";

interface PendingQuestion {
  readonly answer: (answer: string | null) => void;
  /** The open input box, which closes when the question is withdrawn. */
  box: vscode.QuickInput | undefined;
  /** The text of the box when it was closed. */
  draft: string;
}

export class Questions {
  private readonly pending = new Map<AskParams, PendingQuestion>();

  constructor(private readonly store: Store) {
    store.onChange(() => {
      for (const [question, showBox] of this.pending)
        if (!store.get(question.sessionId)?.questions.includes(question)) showBox.box?.hide();
    });
  }

  /** Waits for the user's answer: null if the question is withdrawn. */
  async ask(question: AskParams, withdrawn: vscode.CancellationToken): Promise<AskResult> {
    this.store.addQuestion(question);
    const answered = new Promise<string | null>((resolve) => {
      this.pending.set(question, { answer: resolve, box: undefined, draft: "" });
      withdrawn.onCancellationRequested(() => {
        resolve(null);
      });
    });
    try {
      return { answer: await answered };
    } finally {
      this.store.removeQuestion(question);
      this.pending.delete(question);
    }
  }

  /** Answers a question, if it is still open. */
  answer(question: AskParams, text: string): void {
    this.pending.get(question)?.answer(text);
  }

  /** Opens the input box. Closing it is not an answer, and it keeps the typed text. */
  open(question: AskParams): void {
    const open = this.pending.get(question);
    if (!open || open.box) return;
    const box = question.options.length > 0 ? optionsBox(question, open) : textBox(question, open);
    box.title = this.titleFor(question);
    open.box = box;
    box.onDidHide(() => {
      open.box = undefined;
      open.draft = box.value;
      box.dispose();
    });
    box.show();
  }

  /** Names the task if other sessions wait too, or another session is shown. */
  private titleFor({ sessionId }: AskParams): string {
    const session = this.store.get(sessionId);
    const isOnly =
      this.store.active === session &&
      this.store.sessions.every((each) => each === session || openRequests(each) === 0);
    return isOnly ? t("Agent: Answer") : t("Agent: Answer ({0})", nameOf(session));
  }
}

type Box = vscode.QuickPick<vscode.QuickPickItem> | vscode.InputBox;

/** A box with the options, which also accepts any other text. */
function optionsBox({ question, options }: AskParams, { answer, draft }: PendingQuestion): Box {
  const box = vscode.window.createQuickPick();
  const show = (): void => {
    const given = options.map((option): vscode.QuickPickItem => ({ label: option }));
    const typed = box.value.trim();
    const own =
      typed === "" || options.includes(typed)
        ? []
        : [{ label: typed, description: t("your own answer"), alwaysShow: true }];
    box.items = [...given, ...own];
  };
  // from VS Code 1.108 on the prompt shows all lines; the placeholder is truncated
  Object.assign(box, { prompt: escapeInvisible(question) });
  box.placeholder = t("Choose or type an answer.");
  box.ignoreFocusOut = true;
  box.value = draft;
  box.onDidChangeValue(show);
  show();
  box.onDidAccept(() => {
    const chosen = box.selectedItems[0]?.label;
    if (chosen !== undefined) answer(chosen);
  });
  return box;
}

function textBox({ question }: AskParams, { answer, draft }: PendingQuestion): Box {
  const box = vscode.window.createInputBox();
  box.prompt = escapeInvisible(question);
  box.ignoreFocusOut = true;
  box.value = draft;
  box.onDidAccept(() => {
    if (box.value.trim() !== "") answer(box.value.trim());
  });
  return box;
}
