// Does what the user asks for in the conversation. The webview only reports what the user did.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { Card, CardAction } from "./cards";
import { wholeText } from "./entryViews";
import type { Intention } from "./messages";
import type { ChosenPrompt } from "../../context/serverPrompts";
import { parseSent, type TypedCommand } from "./slashCommands";
import type { Omission } from "../../context/editorContext";
import type { ErrorAction } from "../../server/errorActions";
import { firstExisting, relative, urisOfPath } from "../../ui/folders";
import { placesIn } from "../../ui/places";
import type { TaskMode } from "../../state/taskMode";
import type { ApproveParams, AskParams, ImageItem } from "../../wire/protocol";
import type { ServerOffer } from "../../wire/protocolStates";
import type { Entry } from "../../state/session";
import type { Store } from "../../state/store";
import type { WaitingAction } from "../../state/waiting";
import { showBriefly, showInformation } from "../../ui/show";
import { visibleText } from "../../ui/shownText";

type Answer = Extract<Intention, { kind: "press" | "answer" }>;
type Click = Extract<
  Intention,
  {
    kind:
      | "open"
      | "openPath"
      | "showWhole"
      | "showSubagent"
      | "copy"
      | "copyText"
      | "insertText"
      | "stop"
      | "undo"
      | "chooseAgent"
      | "chooseModel";
  }
>;

/** What the conversation needs of other features. */
interface Features {
  readonly notices: { perform(action: WaitingAction): unknown };
  readonly questions: { answer(question: AskParams, text: string): void };
  readonly approvals: { reject(approval: ApproveParams, reason: string): void };
  readonly runs: {
    send(
      sessionId: string | undefined,
      prompt: string,
      mode: TaskMode,
      omitted: readonly Omission[],
      pictures: readonly ImageItem[],
      chosen: ChosenPrompt | undefined,
    ): Promise<boolean>;
    stop(sessionId: string): Promise<void>;
    retry(sessionId: string): Promise<void>;
    help(sessionId: string, action: ErrorAction): Promise<void>;
  };
  readonly sessions: { sendMessage(sessionId: string, text: string): Promise<boolean> };
  readonly diffs: { openAt(sessionId: string, uri: vscode.Uri, line: number | null): Promise<boolean> };
}

/** The scheme of read-only documents with the whole text of an entry. */
const WHOLE_TEXT_SCHEME = "fairlead-entry";

export class ConversationActions implements vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly textChanges = new vscode.EventEmitter<vscode.Uri>();
  private readonly registered: vscode.Disposable[];

  constructor(
    private readonly store: Store,
    private readonly features: Features,
    /** Returns what the tool servers of the shown session offer. */
    private readonly offers: () => Promise<readonly ServerOffer[]>,
    /** Returns its skills and commands, and the commands of its hosted agent. */
    private readonly skills: () => Promise<readonly TypedCommand[]>,
  ) {
    this.registered = [
      vscode.workspace.registerTextDocumentContentProvider(WHOLE_TEXT_SCHEME, {
        onDidChange: this.textChanges.event,
        provideTextDocumentContent: (uri) => this.texts.get(uri.toString()) ?? t("This text is no longer available.\n"),
      }),
      vscode.languages.registerDocumentLinkProvider(
        { scheme: WHOLE_TEXT_SCHEME },
        { provideDocumentLinks: placeLinks },
      ),
    ];
  }

  dispose(): void {
    for (const each of this.registered) each.dispose();
    this.textChanges.dispose();
  }

  /** Performs the action of a card's button, or answers the card's question. Ignores a blank answer. */
  async answer(card: Card, answer: Answer): Promise<void> {
    if (answer.kind === "press") {
      const button = card.buttons[answer.button];
      if (button) await this.performCardAction(button.action);
    } else if (card.question && answer.text.trim() !== "") {
      await this.performCardAction({ kind: "reply", question: card.question, text: answer.text.trim() });
    }
  }

  /** Does what a click asks for. */
  async perform(intention: Click): Promise<void> {
    switch (intention.kind) {
      case "open":
        await this.open(vscode.Uri.parse(intention.uri), intention.line);
        return;
      case "openPath":
        await this.openPath(intention.path, intention.line);
        return;
      case "showWhole":
        await this.showWhole(intention.entry);
        return;
      case "showSubagent":
        await this.showSubagent(intention.entry);
        return;
      case "copy": {
        const entry = this.entry(intention.entry);
        if (entry) await copy(wholeText(entry));
        return;
      }
      case "copyText":
        await copy(intention.text);
        return;
      case "insertText":
        await insert(intention.text);
        return;
      case "stop": {
        const session = this.store.active;
        if (session?.running) await this.features.runs.stop(session.id);
        return;
      }
      case "undo":
        await vscode.commands.executeCommand("fairlead.undoReview");
        return;
      case "chooseAgent":
        await vscode.commands.executeCommand("fairlead.chooseAgent");
        return;
      case "chooseModel":
        await vscode.commands.executeCommand("fairlead.chooseModel");
    }
  }

  /**
   * Sends what the user typed: as the answer to the question among `cards`, as the reason to reject the approvals among
   * them, as a message to the shown session if it is running, else as a task with the pictures, in `mode` unless a slash
   * command sets another one. Only a task has a mode. `/new` always starts a task.
   *
   * Returns false if the text was not sent, unless it is blank. For a task, returns true only when its run has ended
   * (`Runs.send`). A message and a slash command that runs at once have no pictures and no context. For these, calls
   * `putBack`, so that the pictures and what the user removed from the context apply to the next task.
   */
  async send(
    text: string,
    mode: TaskMode,
    cards: readonly Card[],
    omitted: readonly Omission[],
    pictures: readonly ImageItem[],
    putBack: () => void,
  ): Promise<boolean> {
    const [offers, skills] = text.trimStart().startsWith("/")
      ? await Promise.all([this.offers(), this.skills()])
      : [[], []];
    const sent = parseSent(text, offers, skills);
    if (sent.kind === "unclear") {
      void showInformation(sent.problem);
      return false;
    }
    if (sent.kind === "command") {
      putBack();
      await vscode.commands.executeCommand(sent.command);
      return true;
    }
    if (sent.text === "") return true;
    const session = sent.isNew ? undefined : this.store.active;
    if (session?.running && pictures.length > 0) {
      void showInformation(
        t("Pictures can be sent only with a task. Wait until the agent has finished, or remove them."),
      );
      return false;
    }
    if (session?.running && sent.chosen) {
      void showInformation(t("A prompt of a tool server begins a task. Wait until the agent has finished."));
      return false;
    }
    if (session?.running) {
      putBack();
      const question = cards.find((card) => card.question)?.question;
      const asked = cards.flatMap(({ approval }) => approval ?? []);
      if (!question && asked.length === 0) return this.features.sessions.sendMessage(session.id, sent.text);
      if (question) this.features.questions.answer(question, sent.text);
      else for (const approval of asked) this.features.approvals.reject(approval, sent.text);
      return true;
    }
    return this.features.runs.send(session?.id, sent.text, sent.mode ?? mode, omitted, pictures, sent.chosen);
  }

  private async performCardAction(action: CardAction): Promise<void> {
    switch (action.kind) {
      case "retry":
        await this.features.runs.retry(action.sessionId);
        return;
      case "stop":
        await this.features.runs.stop(action.sessionId);
        return;
      case "help":
        await this.features.runs.help(action.sessionId, action.help);
        return;
      case "showSession":
        this.store.show(action.sessionId);
        return;
      case "offer":
        return; // the page that shows the button gets the text
      case "command":
        await vscode.commands.executeCommand(action.command);
        return;
      default:
        await this.features.notices.perform(action);
    }
  }

  /**
   * Opens a file of the workspace at a line (from 1; null: none), or its diff if the shown session proposes changes for
   * it. Shows a folder in the Explorer. Ignores anything else.
   */
  private async open(uri: vscode.Uri, line: number | null): Promise<void> {
    const session = this.store.active;
    if (!session || uri.scheme !== "file" || !vscode.workspace.getWorkspaceFolder(uri)) return;
    if (await this.features.diffs.openAt(session.id, uri, line)) return;
    const start = new vscode.Position(Math.max(0, (line ?? 1) - 1), 0);
    const options = { preview: true, ...(line === null ? {} : { selection: new vscode.Range(start, start) }) };
    const type = await vscode.workspace.fs.stat(uri).then(
      (found) => found.type,
      () => undefined,
    );
    if (type === undefined) await showDocument(uri, options);
    else if ((type & vscode.FileType.Directory) !== 0) await vscode.commands.executeCommand("revealInExplorer", uri);
    // unlike `showTextDocument`, this also shows a picture
    else await vscode.commands.executeCommand("vscode.open", uri, options);
  }

  /**
   * Opens the workspace file or folder that a path from the model or an output refers to: the first candidate that
   * exists, or else the first one. Ignores a path outside of the workspace.
   */
  private async openPath(path: string, line: number | null): Promise<void> {
    const uris = candidates(path);
    const uri = (await firstExisting(uris)) ?? uris[0];
    if (uri) await this.open(uri, line);
  }

  private async showWhole(index: number): Promise<void> {
    const entry = this.entry(index);
    const session = this.store.active;
    if (!entry || !session) return;
    const path = entry.kind === "text" ? `/Answer ${index + 1}.md` : `/Output ${index + 1}.txt`;
    const uri = vscode.Uri.from({ scheme: WHOLE_TEXT_SCHEME, authority: session.id, path });
    this.texts.set(uri.toString(), wholeText(entry));
    // its document may be open with an earlier text: the entry has grown, or has replaced another one after a rewind
    this.textChanges.fire(uri);
    await vscode.window.showTextDocument(uri, { preview: true });
  }

  private async showSubagent(index: number): Promise<void> {
    const entry = this.entry(index);
    const sessionId = this.store.active?.id;
    if (entry?.kind !== "tool" || sessionId === undefined) return;
    await vscode.commands.executeCommand("fairlead.showSubagent", { sessionId, callId: entry.id });
  }

  private entry(index: number): Entry | undefined {
    return this.store.active?.entries[index];
  }
}

/** Returns what a path from the model or an output may refer to in the workspace. */
function candidates(path: string): vscode.Uri[] {
  const isAbsolute = /^([a-z]:)?[\\/]/i.test(path);
  const uris = isAbsolute ? [vscode.Uri.file(path)] : urisOfPath(path.replace(/^\.\/|\/$/g, ""));
  return uris.filter((uri) => vscode.workspace.getWorkspaceFolder(uri));
}

/** Returns the links of a document: the places that it mentions, in files that exist. */
async function placeLinks(document: vscode.TextDocument): Promise<vscode.DocumentLink[]> {
  const links = placesIn(document.getText()).map(async ({ start, end, path, line }) => {
    const uri = await firstExisting(candidates(path));
    const range = new vscode.Range(document.positionAt(start), document.positionAt(end));
    return uri ? [new vscode.DocumentLink(range, uri.with({ fragment: `L${line}` }))] : [];
  });
  return (await Promise.all(links)).flat();
}

/** Shows a file that is not on disk: if it was deleted, its document can still be open with unsaved changes. */
async function showDocument(uri: vscode.Uri, options: vscode.TextDocumentShowOptions): Promise<void> {
  try {
    await vscode.window.showTextDocument(uri, options);
  } catch {
    void showInformation(t("{0} cannot be opened.", relative(uri.toString())));
  }
}

/** Replaces the selection in the editor that the user worked in last. */
async function insert(text: string): Promise<void> {
  const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
  if (!editor) {
    void showInformation(t("Open the file in which the code should be inserted."));
    return;
  }
  const edit = new vscode.WorkspaceEdit();
  edit.replace(editor.document.uri, editor.selection, visibleText(text));
  if (await vscode.workspace.applyEdit(edit)) await vscode.window.showTextDocument(editor.document, editor.viewColumn);
}

/** Copies a text as the conversation shows it: what is pasted into a terminal has no hidden characters. */
async function copy(text: string): Promise<void> {
  await vscode.env.clipboard.writeText(visibleText(text));
  showBriefly(t("Copied."));
}
