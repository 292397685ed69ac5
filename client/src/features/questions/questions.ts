// The agent's pending questions. A question stays until it is answered or withdrawn. It is in the store, so it appears
// as a row, as a notice, in the conversation and in the status bar.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { AskParams, AskResult } from "../../wire/protocol";
import type { Store } from "../../state/store";
import { sessionName } from "../../ui/sessionTexts";
import { openRequests } from "../../state/waiting";
import { pickBox, showRows, textBox, type PickBox, type PickTexts, type TextBox } from "../../ui/show";

interface PendingQuestion {
  readonly answer: (answer: string | null) => void;
  /** The open input box, which closes when the question is answered or withdrawn. */
  box: Box | undefined;
  /** The text of the box when it was closed. The next box begins with it. */
  draft: string;
}

export class Questions {
  private readonly pending = new Map<AskParams, PendingQuestion>();

  constructor(private readonly store: Store) {
    store.onChange(() => {
      for (const [question, { box }] of this.pending)
        if (!store.get(question.sessionId)?.questions.includes(question)) box?.hide();
    });
  }

  /** Waits for the user's answer, which is null if the question is withdrawn. */
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

  /** Opens the input box. If the user closes the box, the question stays open and the typed text is saved. */
  open(question: AskParams): void {
    const pending = this.pending.get(question);
    if (!pending || pending.box) return;
    const make = question.options.length > 0 ? optionsBox : wordsBox;
    const box = make(question, this.titleFor(question), pending);
    pending.box = box;
    box.onDidHide(() => {
      pending.box = undefined;
      pending.draft = box.value;
      box.dispose();
    });
    box.show();
  }

  /** Returns the title of the box. It names the question's session if that is not shown or other sessions wait too. */
  private titleFor({ sessionId }: AskParams): string {
    const session = this.store.get(sessionId);
    const isOnly =
      this.store.active === session &&
      this.store.sessions.every((each) => each === session || openRequests(each) === 0);
    return isOnly ? t("Agent: Answer") : t("Agent: Answer ({0})", sessionName(session));
  }
}

type Box = PickBox<AnswerRow> | TextBox;

interface AnswerRow extends PickTexts {
  /** What the model reads if the user chooses the row. */
  readonly answer: string;
}

/** A box with the options, which also accepts any other text. */
function optionsBox({ question, options }: AskParams, title: string, { answer, draft }: PendingQuestion): Box {
  // since VS Code 1.108, the prompt shows all lines; the placeholder would be truncated
  const box = pickBox<AnswerRow>({ title, prompt: question, placeholder: t("Choose or type an answer.") });
  const show = (): void => {
    const given = options.map((option): AnswerRow => ({ label: option, answer: option }));
    const typed = box.value.trim();
    const own =
      typed === "" || options.includes(typed)
        ? []
        : [{ label: typed, answer: typed, description: t("your own answer"), alwaysShow: true }];
    showRows(box, [...given, ...own]);
  };
  box.ignoreFocusOut = true;
  box.value = draft;
  box.onDidChangeValue(show);
  show();
  box.onDidAccept(() => {
    const chosen = box.selectedItems[0]?.row.answer;
    if (chosen !== undefined) answer(chosen);
  });
  return box;
}

function wordsBox({ question }: AskParams, title: string, { answer, draft }: PendingQuestion): Box {
  const box = textBox({ title, prompt: question });
  box.ignoreFocusOut = true;
  box.value = draft;
  box.onDidAccept(() => {
    if (box.value.trim() !== "") answer(box.value.trim());
  });
  return box;
}
