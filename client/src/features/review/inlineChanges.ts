// The proposed changes in the user's own file, which stays as it is: what a change removes is red, and the new lines are
// in a comment thread below, because nothing else of VS Code's API can stand between the lines of a document.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { method, scheme, type ChangeInFile, type DecideParams } from "../../wire/protocol";
import type { AgentServer } from "../../server/server";
import type { Store } from "../../state/store";
import { setContextKey } from "../../ui/contextKeys";
import { commentController, commentThread, marks } from "../../ui/show";
import { delayed, drawnFrom } from "../../ui/throttle";
import { isDecidedAsWhole } from "./changeNavigation";
import { fileOf, fileOrRenamed, hunkOf } from "./diffUris";
import { counts } from "./editRows";
import { inlineText, plainBody, type InlineText } from "./inlineText";

/** More threads at once would make the window slow. Also the most changes of a file that has no CodeLenses. */
const MAX_THREADS = 20;
/** The most characters of a row of new lines, if the editor wraps the lines of the file, and if it does not. */
const [PROSE_ROW, CODE_ROW] = [72, 120];
const SETTING = "fairlead.inlineChanges";
/** The pause before the threads follow the user who scrolls, in milliseconds. */
const SCROLL_PAUSE = 200;

/** A document that shows changes. */
interface ShownFile {
  /** From top to bottom. */
  changes: readonly ChangeInFile[];
  /** By session and hunk. */
  readonly threads: Map<string, vscode.CommentThread>;
}

export class InlineChanges implements vscode.Disposable {
  private readonly controller = commentController();
  private readonly removedLine = marks({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.removedLineBackground"),
    // in high contrast, only the border is visible
    border: "1px dashed",
    borderColor: new vscode.ThemeColor("diffEditor.removedTextBorder"),
    overviewRulerColor: new vscode.ThemeColor("diffEditorOverview.removedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Full,
  });
  private readonly removedWords = marks({
    backgroundColor: new vscode.ThemeColor("diffEditor.removedTextBackground"),
  });
  private readonly insertion = marks({
    overviewRulerColor: new vscode.ThemeColor("diffEditorOverview.insertedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Full,
  });
  /** By the document's URI. */
  private readonly files = new Map<string, ShownFile>();
  private readonly paramsOf = new WeakMap<vscode.CommentThread, DecideParams>();
  private readonly shown = new vscode.EventEmitter<void>();
  /** Fires when the changes in the user's files are shown. */
  readonly onDidShow = this.shown.event;
  /** The last update in the queue. */
  private updating = Promise.resolve();
  private readonly disposables: { dispose(): unknown }[];

  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
  ) {
    const redraw = drawnFrom(
      store,
      () => void this.update(),
      (change) => change === "edits",
    );
    const scrolled = delayed(() => void this.update(), SCROLL_PAUSE);
    this.disposables = [
      this.controller,
      this.shown,
      this.removedLine,
      this.removedWords,
      this.insertion,
      redraw,
      scrolled,
      vscode.window.onDidChangeVisibleTextEditors(redraw.schedule),
      vscode.window.tabGroups.onDidChangeTabs(redraw.schedule),
      vscode.window.onDidChangeActiveTextEditor(() => {
        this.updateKeys();
        redraw.schedule();
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (this.files.has(document.uri.toString())) redraw.schedule();
      }),
      vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => {
        const shown = this.files.get(textEditor.document.uri.toString());
        if (shown && shown.changes.length > MAX_THREADS) scrolled.schedule();
      }),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(SETTING)) redraw.schedule();
      }),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** The changes in a document, from top to bottom, as they were last shown. */
  changesIn(document: vscode.TextDocument): readonly ChangeInFile[] {
    return this.files.get(document.uri.toString())?.changes ?? [];
  }

  /** Returns what a decision in the title of a thread is about. */
  paramsOfThread(thread: vscode.CommentThread): DecideParams | undefined {
    return this.paramsOf.get(thread);
  }

  /** Shows the current changes in the documents that the user sees. One update at a time. */
  update(): Promise<void> {
    return (this.updating = this.updating.then(() => this.updateNow()));
  }

  private async updateNow(): Promise<void> {
    this.updateKeys();
    const documents = shownDocuments().filter((document) => hasChanges(this.store, document));
    const keys = new Set(documents.map(({ uri }) => uri.toString()));
    for (const [key, shown] of this.files) {
      if (!keys.has(key)) this.remove(key, shown);
    }
    for (const document of documents) await this.updateDocument(document);
    this.shown.fire();
  }

  /** Lets the keys of the review work in the active file, before its changes are drawn. */
  private updateKeys(): void {
    const active = vscode.window.activeTextEditor?.document;
    const isReviewed = (document: vscode.TextDocument): boolean =>
      hasChanges(this.store, document) || fileDecidedAsWhole(this.store, document) !== undefined;
    setContextKey("changesInFile", active?.uri.scheme === "file" && isReviewed(active));
  }

  private async updateDocument(document: vscode.TextDocument): Promise<void> {
    const uri = document.uri.toString();
    const found = await this.server.request(method.changesInFile, { uri }).catch(() => undefined);
    // a change of the document causes the next update
    if (!found || document.isClosed || found.version !== document.version) return;
    const shown: ShownFile = this.files.get(uri) ?? { changes: [], threads: new Map() };
    this.files.set(uri, shown);
    shown.changes = found.changes;
    this.draw(document, shown);
  }

  private draw(document: vscode.TextDocument, shown: ShownFile): void {
    const editors = vscode.window.visibleTextEditors.filter((editor) => editor.document === document);
    const changes = isInline() ? shown.changes : [];
    const texts = new Map(
      changes.map((change) => [change, textOf(document, change, editors[0], this.problemsOf(change))]),
    );
    for (const editor of editors) {
      editor.setDecorations(this.removedLine, changes.flatMap(removedRange));
      editor.setDecorations(
        this.removedWords,
        changes.flatMap((change) => wordRanges(change, texts.get(change))),
      );
      editor.setDecorations(this.insertion, changes.filter(({ removed }) => removed === 0).map(lineAbove));
    }
    const key = (change: ChangeInFile): string => [keyOf(change), ...this.problemsOf(change)].join("\n");
    const wanted = new Map(nearest(changes, editors[0]).map((change) => [key(change), change]));
    for (const [id, thread] of shown.threads) {
      if (wanted.has(id)) continue;
      thread.dispose();
      shown.threads.delete(id);
    }
    for (const [id, change] of wanted) {
      const text = texts.get(change);
      const thread = shown.threads.get(id) ?? this.createThread(document, change, text);
      shown.threads.set(id, thread);
      this.paramsOf.set(thread, { sessionId: change.sessionId, target: { uri: change.uri, hunk: change.hunk } });
      const range = lineAbove(change);
      if ((thread.range as vscode.Range | undefined) && !thread.range.isEqual(range)) thread.range = range;
      const label = this.labelOf(change);
      if (thread.label !== label) thread.label = label;
    }
  }

  private createThread(
    document: vscode.TextDocument,
    change: ChangeInFile,
    text: InlineText | undefined,
  ): vscode.CommentThread {
    const { added, removed, line } = change;
    const problems = this.problemsOf(change);
    const body = text && !usesScreenReader() ? text.body : plainBody(added, problems);
    const isAboveAll = line === 0 && removed === 0;
    return commentThread(this.controller, document.uri, isAboveAll ? undefined : lineAbove(change), {
      author: counts(added.length, removed),
      label: this.store.get(change.sessionId)?.plan?.items.find(({ id }) => id === change.itemId)?.content,
      body: added.length > 0 || problems.length > 0 ? body : t("Removes the red lines."),
    });
  }

  /** The messages of the errors in the new lines of a change. */
  private problemsOf({ sessionId, uri, hunk }: ChangeInFile): readonly string[] {
    const file = fileOf(this.store.get(sessionId), vscode.Uri.parse(uri).path);
    const lines = file?.hunks.find(({ id }) => id === hunk);
    if (!file || !lines) return [];
    const isInChange = (line: number): boolean =>
      line + 1 >= lines.newStart && line + 1 < lines.newStart + lines.newLines;
    return file.problems.filter(({ range }) => isInChange(range.start.line)).map(({ message }) => message);
  }

  private labelOf(change: ChangeInFile): string {
    const position = this.positionOf(change);
    return change.state === "conflict" ? t("Conflict: {0}", position) : position;
  }

  private positionOf({ sessionId, uri, number, count }: ChangeInFile): string {
    const files = this.store.reviewable.flatMap(({ id, edits }) => (edits?.files ?? []).map((file) => ({ id, file })));
    const index = files.findIndex(({ id, file }) => id === sessionId && file.uri === uri);
    if (files.length < 2) return t("Proposed change {0} of {1}", number, count);
    return t("Proposed change {0} of {1}, file {2} of {3}", number, count, index + 1, files.length);
  }

  private remove(uri: string, { threads }: ShownFile): void {
    this.files.delete(uri);
    for (const thread of threads.values()) thread.dispose();
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.toString() !== uri) continue;
      for (const type of [this.removedLine, this.removedWords, this.insertion]) editor.setDecorations(type, []);
    }
  }
}

/** Whether changes are shown in the user's files. */
const isInline = (): boolean => vscode.workspace.getConfiguration().get(SETTING) !== false;

/**
 * Whether a change has no CodeLens. In a proposed text with unsaved changes, the CodeLenses would be on wrong lines. In
 * the user's file, the change's thread has buttons. Screen readers find a CodeLens more easily, and not all changes of a
 * file with many have a thread.
 */
export function hidesLens(store: Store, document: vscode.TextDocument, { sessionId, target }: DecideParams): boolean {
  if (document.uri.scheme === scheme.proposed) return document.isDirty;
  if (document.uri.scheme !== "file" || !("hunk" in target) || !isInline() || usesScreenReader()) return false;
  const file = fileOf(store.get(sessionId), vscode.Uri.parse(target.uri).path);
  const hunk = hunkOf(store, sessionId, target);
  return file !== undefined && file.hunks.length <= MAX_THREADS && hunk?.state === "pending";
}

const usesScreenReader = (): boolean =>
  vscode.workspace.getConfiguration("editor").get("accessibilitySupport") === "on";

const keyOf = ({ sessionId, hunk }: ChangeInFile): string => `${sessionId} ${hunk}`;

/** The files in the tabs that are in front, without those in diffs of other extensions, which show threads too. */
function shownDocuments(): vscode.TextDocument[] {
  const tabs = vscode.window.tabGroups.all.map(({ activeTab }) => activeTab?.input);
  const files = tabs.flatMap((input) => (input instanceof vscode.TabInputText ? [input.uri.toString()] : []));
  const documents = vscode.window.visibleTextEditors.map(({ document }) => document);
  const isFile = ({ uri }: vscode.TextDocument): boolean => uri.scheme === "file" && files.includes(uri.toString());
  return [...new Set(documents.filter(isFile))];
}

/** The proposal for a user's file that is decided as a whole, such as its deletion; undefined if there is none. */
export function fileDecidedAsWhole(
  store: Store,
  { uri: { scheme: origin, path } }: vscode.TextDocument,
): { readonly sessionId: string; readonly uri: string } | undefined {
  if (origin !== "file") return undefined;
  for (const session of store.reviewable) {
    const file = fileOf(session, path);
    if (file && isDecidedAsWhole(file)) return { sessionId: session.id, uri: file.uri };
  }
  return undefined;
}

const hasChanges = (store: Store, { uri }: vscode.TextDocument): boolean =>
  store.reviewable.some((session) => {
    const file = fileOrRenamed(session, uri.path);
    return file !== undefined && !isDecidedAsWhole(file);
  });

/** Returns the changes that get a thread: those that are visible, then those that are nearest to them. */
function nearest(changes: readonly ChangeInFile[], editor: vscode.TextEditor | undefined): readonly ChangeInFile[] {
  if (changes.length <= MAX_THREADS) return changes;
  const [visible] = editor?.visibleRanges ?? [];
  const middle = visible ? (visible.start.line + visible.end.line) / 2 : 0;
  const distance = ({ line }: ChangeInFile): number => Math.abs(line - middle);
  return [...changes].sort((one, other) => distance(one) - distance(other)).slice(0, MAX_THREADS);
}

function textOf(
  document: vscode.TextDocument,
  change: ChangeInFile,
  editor: vscode.TextEditor | undefined,
  problems: readonly string[],
): InlineText {
  const removed = Array.from({ length: change.removed }, (_, n) => lineText(document, change.line + n));
  const tabSize = Number(editor?.options.tabSize ?? 4);
  return inlineText(removed, change.added, tabSize, wrapsLines(document) ? PROSE_ROW : CODE_ROW, problems);
}

const wrapsLines = (document: vscode.TextDocument): boolean =>
  vscode.workspace.getConfiguration("editor", document).get<string>("wordWrap") !== "off";

const lineText = (document: vscode.TextDocument, line: number): string =>
  line < document.lineCount ? document.lineAt(line).text : "";

const removedRange = ({ line, removed }: ChangeInFile): vscode.Range[] =>
  removed > 0 ? [new vscode.Range(line, 0, line + removed - 1, Number.MAX_SAFE_INTEGER)] : [];

const wordRanges = ({ line }: ChangeInFile, text: InlineText | undefined): vscode.Range[] =>
  (text?.removedWords ?? []).map(
    (words) => new vscode.Range(line + words.line, words.start, line + words.line, words.end),
  );

/** The line below which the new lines are shown. */
function lineAbove({ line, removed }: ChangeInFile): vscode.Range {
  const above = Math.max(0, line + removed - 1);
  return new vscode.Range(above, 0, above, 0);
}
