// Reviews at the cursor: decides on the change, file or multi-file diff that the user is looking at, and goes to the next
// change.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { Diffs } from "./diffs";
import {
  nextAfterDecision,
  hunkAt,
  isInTarget,
  adjacentChange,
  editsOfStep,
  changeAt,
  changeLocations,
  cursorLine,
  isDecidedAsWhole,
  lineInFullText,
  lineOfBaseInFullText,
  shownTarget,
  isSameChange,
  type ChangeLocation,
  type CursorPosition,
} from "./changeNavigation";
import { scheme, type ChangeInFile, type DecideParams, type Target } from "../../wire/protocol";
import type { FileEdits } from "../../wire/protocolStates";
import { fileDecidedAsWhole, type InlineChanges } from "./inlineChanges";
import type { EditRow, Place } from "./editRows";
import { targetOf, type Decision, type DecisionOptions, type Review } from "./review";
import { fileAt, parseDiffUri, type DiffSide } from "./diffUris";
import type { Direction } from "../../state/decisions";
import type { Store } from "../../state/store";
import { activeTab } from "../../ui/window";
import { showBriefly, showInformation } from "../../ui/show";

/** `advance`: whether to show the next change after the decision. */
type RowOptions = DecisionOptions & { readonly advance?: boolean };

/** The user's file that is in front, with the changes that it shows. */
interface ShownFile {
  readonly editor: vscode.TextEditor;
  /** From top to bottom; none if the file is decided as a whole. */
  readonly changes: readonly ChangeInFile[];
  readonly sessionId: string;
  readonly uri: string;
}

interface ShownDiff {
  readonly side: DiffSide;
  readonly file: FileEdits;
}

/** How long VS Code may need to draw the changes of a file, in milliseconds. */
const DRAWING = 3000;
/** The cursor is put at a column after this one, so that what differs is in sight. */
const FAR = 80;
/** How long a pressed key waits for the effect of the one before it, in milliseconds. */
const MAX_WAIT = 5000;

export class ReviewCursor {
  /** The last effect of a key in the queue. */
  private acting: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly store: Store,
    private readonly review: Review,
    private readonly diffs: Diffs,
    private readonly inline: InlineChanges,
    /** Confirms the accept of a protected file if the user is asked about it. Returns whether they were. */
    private readonly confirm: (uri: string) => boolean,
  ) {}

  /**
   * Decides on the file that is in front. If a diff shows one plan step, decides only on the changes of that step, unless
   * the file is decided as a whole.
   */
  async decideFile(decision: Decision): Promise<void> {
    if (decision === "accept" && this.isConfirmed()) return;
    await this.decideShownFile((params) => this.review.decide(decision, params));
  }

  /**
   * Decides on the change at the cursor, or on the file if that is decided as a whole. If the user is asked whether they
   * accept a protected file, accepting it again is the answer.
   */
  async decideHunk(decision: Decision): Promise<void> {
    if (decision === "accept" && this.isConfirmed()) return;
    await this.decideAtCursor((params) => this.review.decide(decision, params));
  }

  /** Asks for a reason and rejects the change at the cursor, or the file if that is decided as a whole. */
  async rejectWithReason(): Promise<void> {
    await this.decideAtCursor(({ sessionId, target }) => this.review.rejectWithReason(sessionId, target));
  }

  /** Handles a decision in the title of a change in the user's file. */
  async decideThread(decision: Decision, thread: vscode.CommentThread): Promise<void> {
    const params = this.inline.paramsOfThread(thread);
    if (!params) return;
    const decide = (): Promise<unknown> => this.review.decide(decision, params);
    const file = this.shownFile();
    if (file?.editor.document.uri.toString() === thread.uri.toString()) await this.decideInFile(file, params, decide);
    else await decide();
  }

  /** Opens the diff of a change in the user's file. */
  async openThread(thread: vscode.CommentThread): Promise<void> {
    const params = this.inline.paramsOfThread(thread);
    if (params) await this.diffs.openTarget(params);
  }

  /**
   * Handles a decision from a CodeLens. In a diff, the editor does not scroll to the next change while the diff shows
   * other changes to the file.
   */
  async decideFromCodeLens(decision: Decision, params: DecideParams): Promise<void> {
    const shown = this.shown();
    const decide = (): Promise<unknown> => this.review.decide(decision, params);
    const mayAdvance = (): boolean => {
      const file = shown && fileAt(this.store, shown.side);
      return !file || !shownTarget(file, shown.side.item);
    };
    await (shown ? this.decideAndAdvance(shown, params.target, decide, { mayAdvance }) : decide());
  }

  /**
   * Handles a decision from a row of the list. With `advance`, shows the next change afterwards if the active diff
   * shows a file of the row and is not a multi-file diff. The focus stays in the list. Does nothing for the row of a
   * check.
   */
  async decideRow(decision: Decision, row: EditRow, { advance = false, ...options }: RowOptions = {}): Promise<void> {
    await this.decideRowBy((params) => this.review.decide(decision, { ...params, ...options }), row, advance);
  }

  /** Asks for a reason and rejects what a row shows. `advance` as in `decideRow`. */
  async rejectRowWithReason(row: EditRow, { advance = false } = {}): Promise<void> {
    const reject = ({ sessionId, target }: DecideParams): Promise<unknown> =>
      this.review.rejectWithReason(sessionId, target);
    await this.decideRowBy(reject, row, advance);
  }

  private async decideRowBy(
    decideOn: (params: DecideParams) => Promise<unknown>,
    row: EditRow,
    advance: boolean,
  ): Promise<void> {
    if (row.kind === "check") return;
    const { sessionId } = row;
    const target = targetOf(row);
    const decide = (): Promise<unknown> => decideOn({ sessionId, target });
    const shown = this.shown();
    const isShown =
      shown &&
      isInTarget(sessionId, target, { sessionId: shown.side.sessionId, file: shown.file, hunk: undefined, line: 1 });
    if (!advance || this.diffs.activeMultiDiff || !shown || !isShown) {
      await decide();
      await this.diffs.removeDecidedFiles();
    } else await this.decideAndAdvance(shown, target, decide, { preserveFocus: true });
  }

  /** The change at the cursor of a diff or of the user's file, or the file; undefined in other editors. */
  get place(): Place | undefined {
    if (activeTab()?.input instanceof vscode.TabInputWebview) return undefined; // the last text editor may stay active
    const inFile = this.shownFile();
    const change = inFile && changeAt(inFile.changes, inFile.editor.selection.active.line);
    const { sessionId, uri } = change ?? inFile ?? {};
    const shown = this.shown();
    const side = sessionId && uri ? { sessionId, path: vscode.Uri.parse(uri).path, item: undefined } : shown?.side;
    const file = side && fileAt(this.store, side);
    if (!file) return undefined;
    const target = shown && hunkTarget(shown);
    const id = change?.hunk ?? (target && "hunk" in target ? target.hunk : undefined);
    return { sessionId: side.sessionId, file, hunk: file.hunks.find((hunk) => hunk.id === id) };
  }

  /** Decides on everything in the active multi-file diff. */
  async decideShown(decision: Decision): Promise<void> {
    const shown = this.diffs.activeMultiDiff;
    const target: Target = shown?.item === undefined ? { all: true } : { item: shown.item };
    if (shown)
      await this.diffs.updateMultiDiffWhile(() => this.review.decide(decision, { sessionId: shown.sessionId, target }));
    else showNoDiffOpen();
  }

  /** Goes to the next or previous proposed change: in all files, or in those of the active multi-file diff. */
  goTo(direction: "next" | "previous"): Promise<void> {
    return this.inOrder(() => this.goToNow(direction));
  }

  private async goToNow(direction: "next" | "previous"): Promise<void> {
    const shown = this.shownFile();
    if (shown) {
      await this.goInFile(shown, direction);
      return;
    }
    const location = adjacentChange(changeLocations(this.store.reviewable), this.position(), direction);
    if (!location) void showInformation(t("There is nothing to review."));
    else if (!(await this.diffs.goInMultiDiff(direction, location)))
      await this.diffs.open(location.sessionId, location.file, location.hunk);
  }

  /**
   * Undoes or redoes a decision, and shows the changes that are proposed again. A diff gets the focus unless
   * `preserveFocus` is true, as it may replace the one that has the focus. Returns the first of the changes, if any.
   */
  async undoOrRedo(direction: Direction, preserveFocus = false): Promise<Place | undefined> {
    const keyOf = ({ sessionId, file, hunk }: ChangeLocation): string => [sessionId, file.uri, hunk?.id].join(" ");
    const before = new Set(changeLocations(this.store.reviewable).map(keyOf));
    await this.review[direction]();
    const back = changeLocations(this.store.reviewable).filter((location) => !before.has(keyOf(location)));
    const [first] = back;
    if (!first || (await this.diffs.showInMultiDiff(first))) return first;
    // several files are only opened for a user who is looking at one
    const isOneFile = back.every(({ file }) => file.uri === first.file.uri);
    if (this.shownFile()) await this.showInFile(first);
    else if (isOneFile || this.shown()) await this.diffs.open(first.sessionId, first.file, first.hunk, preserveFocus);
    return first;
  }

  private isConfirmed(): boolean {
    const uri = this.shownFile()?.uri ?? this.shown()?.file.uri;
    return uri !== undefined && this.confirm(uri);
  }

  private decideAtCursor(decide: (params: DecideParams) => Promise<unknown>): Promise<void> {
    return this.inOrder(() => this.decideAtCursorNow(decide));
  }

  /**
   * Runs what a key does after the key before it has had its effect, so that several keys in a row mean one change after
   * the other. A key that was pressed long before, such as before a dialog, has no effect.
   */
  private inOrder(act: () => Promise<void>): Promise<void> {
    const pressed = performance.now();
    const acting = this.acting.then(async () => {
      if (performance.now() - pressed < MAX_WAIT) await act();
    });
    this.acting = acting.catch(() => undefined);
    return acting;
  }

  private async decideAtCursorNow(decide: (params: DecideParams) => Promise<unknown>): Promise<void> {
    if (this.shownFile()) await this.inline.update();
    const file = this.shownFile();
    const shown = this.shown();
    if (file) {
      const change = changeAt(file.changes, file.editor.selection.active.line);
      if (change) await this.decideInFile(file, paramsOf(change), decide);
      else if (file.changes.length === 0) await this.decideInFile(file, paramsOfFile(file), decide);
      else showBriefly(t("No proposed change at the cursor."));
      return;
    }
    if (!shown) {
      showNoDiffOpen();
      return;
    }
    const target = hunkTarget(shown);
    if (target) await this.decideAndAdvance(shown, target, decide);
    else showBriefly(t("No proposed change at the cursor."));
  }

  /** Makes a decision in the user's file. Shows the next change, unless the user has gone elsewhere meanwhile. */
  private async decideInFile(
    { editor }: ShownFile,
    params: DecideParams,
    decide: (params: DecideParams) => Promise<unknown>,
  ): Promise<void> {
    const before = changeLocations(this.store.reviewable);
    let hasMoved = false;
    const listener = vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
      if (kind === vscode.TextEditorSelectionChangeKind.Keyboard) hasMoved = true;
      if (kind === vscode.TextEditorSelectionChangeKind.Mouse) hasMoved = true;
    });
    const isInFront = (): boolean => !hasMoved && vscode.window.activeTextEditor?.document === editor.document;
    try {
      if ((await decide(params)) === undefined) return;
      const next = nextAfterDecision(before, changeLocations(this.store.reviewable), (location) =>
        isInTarget(params.sessionId, params.target, location),
      );
      if (next && isInFront()) await this.showInFile(next, () => !hasMoved);
    } finally {
      listener.dispose();
    }
  }

  private async goInFile(
    { editor, changes, sessionId, uri }: ShownFile,
    direction: "next" | "previous",
  ): Promise<void> {
    const { line } = editor.selection.active;
    const here = changeAt(changes, line);
    const next =
      direction === "next"
        ? changes.find((change) => change !== here && cursorLine(change) >= line)
        : changes.findLast((change) => change !== here && cursorLine(change) < line);
    if (next) {
      reveal(editor, next);
      return;
    }
    const end = { sessionId, uri, line: direction === "next" ? Infinity : 0 };
    const location = adjacentChange(changeLocations(this.store.reviewable), end, direction);
    if (location) await this.showInFile(location);
  }

  /** Shows a change in the user's file, unless `isWanted` returns false by then; in a diff if the file does not show it. */
  private async showInFile({ sessionId, file, hunk }: ChangeLocation, isWanted = (): boolean => true): Promise<void> {
    if (hunk && !isDecidedAsWhole(file)) {
      const editor = await vscode.window.showTextDocument(vscode.Uri.parse(file.uri), { preview: true });
      const isDrawn = this.inline.changesIn(editor.document).length > 0;
      await this.inline.update();
      const change = this.inline.changesIn(editor.document).find((each) => each.hunk === hunk.id);
      if (!isWanted()) return;
      if (change) {
        if (isDrawn) reveal(editor, change);
        else revealWhileDrawn(editor, change);
        return;
      }
    }
    await this.diffs.open(sessionId, file, hunk);
  }

  /** The user's file that is in front; undefined if nothing is proposed for it. */
  private shownFile(): ShownFile | undefined {
    const editor = vscode.window.activeTextEditor;
    if (!editor || !(activeTab()?.input instanceof vscode.TabInputText)) return undefined;
    const { document } = editor;
    const changes = this.inline.changesIn(document);
    const [first] = changes;
    const { sessionId, uri } = first ?? fileDecidedAsWhole(this.store, document) ?? {};
    return sessionId !== undefined && uri !== undefined ? { editor, changes, sessionId, uri } : undefined;
  }

  private async decideShownFile(decide: (params: DecideParams) => Promise<unknown>): Promise<void> {
    const inFile = this.shownFile();
    if (inFile) {
      await this.decideInFile(inFile, paramsOfFile(inFile), decide);
      return;
    }
    const shown = this.shown();
    const target = shown && shownTarget(shown.file, shown.side.item);
    if (target) await this.decideAndAdvance(shown, target, decide);
    else showNoDiffOpen();
  }

  /**
   * Makes a decision in the active diff. If it was made (`decide` returned a result), the diff is still active and
   * `mayAdvance` returns true, shows the next change. The diff stays open until then.
   */
  private async decideAndAdvance(
    { side }: ShownDiff,
    target: Target,
    decide: (params: DecideParams) => Promise<unknown>,
    { mayAdvance = () => true, preserveFocus = false }: { mayAdvance?: () => boolean; preserveFocus?: boolean } = {},
  ): Promise<void> {
    const { sessionId, item } = side;
    const before = changeLocations(this.store.reviewable);
    const text = proposedText(side);
    const version = text?.version;
    await this.diffs.keepActiveTabWhile(async (isTabActive) => {
      if ((await decide({ sessionId, target })) === undefined) return;
      const now = changeLocations(this.store.reviewable);
      // when a single step is reviewed, its changes come first
      const ofItem = now.filter((location) => item !== undefined && isInTarget(sessionId, { item }, location));
      const next = nextAfterDecision(before, ofItem.length > 0 ? ofItem : now, (location) =>
        isInTarget(sessionId, target, location),
      );
      if (!next || !isTabActive() || !mayAdvance()) return;
      // VS Code may still show the old text: then go to the old line, because the update moves the cursor together with
      // its line
      const old = text?.version === version ? before.find((location) => isSameChange(location, next)) : undefined;
      await this.diffs.showNext(old ?? next, preserveFocus);
    });
  }

  /** Returns the cursor's position in the diff that the user is looking at; undefined if there is none. */
  private position(): CursorPosition | undefined {
    const shown = this.shown();
    if (!shown) return undefined;
    const { side, file } = shown;
    const editor = vscode.window.activeTextEditor;
    const line = (editor?.selection.active.line ?? 0) + 1;
    const { sessionId, item } = side;
    if (editor?.document.uri.scheme === scheme.base)
      return { sessionId, uri: file.uri, line: lineOfBaseInFullText(file, line) };
    return { sessionId, uri: file.uri, line: item === undefined ? line : lineInFullText(file, item, line) };
  }

  /**
   * Returns the side and the file of the diff that the user is looking at; undefined if there is none, or its file has no
   * proposed changes.
   */
  private shown(): ShownDiff | undefined {
    const input = activeTab()?.input;
    // the tab of a multi-file diff does not name the file, so ask the focused editor; in a file's tab, that may be a
    // peek view, so use the tab's own URI
    const uri =
      input instanceof vscode.TabInputTextDiff
        ? input.modified
        : input instanceof vscode.TabInputText
          ? input.uri
          : vscode.window.activeTextEditor?.document.uri;
    const side = uri && parseDiffUri(uri);
    const file = side && fileAt(this.store, side);
    // the URI of the base side does not name the step
    return file && { side: { ...side, item: side.item ?? this.diffs.activeMultiDiff?.item }, file };
  }
}

const paramsOf = ({ sessionId, uri, hunk }: ChangeInFile): DecideParams => ({ sessionId, target: { uri, hunk } });
const paramsOfFile = ({ sessionId, uri }: ShownFile): DecideParams => ({ sessionId, target: { uri } });

function reveal(editor: vscode.TextEditor, change: ChangeInFile): void {
  const line = cursorLine(change);
  const column = farColumn(editor.document, change, line);
  editor.selection = new vscode.Selection(line, column, line, column);
  const last = line + change.removed + change.added.length;
  const range = column > 0 ? new vscode.Range(line, column, line, column) : new vscode.Range(line, 0, last, 0);
  editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** The column at which the first line of a change differs, if that is far to the right; else 0. */
function farColumn(document: vscode.TextDocument, { removed, added }: ChangeInFile, line: number): number {
  const [before, after] = [removed > 0 && line < document.lineCount ? document.lineAt(line).text : "", added[0] ?? ""];
  let column = 0;
  while (column < before.length && before[column] === after[column]) column++;
  return column > FAR && column < before.length ? column : 0;
}

/** Shows a change of a file that was just opened: VS Code draws the new lines of the changes above it later. */
function revealWhileDrawn(editor: vscode.TextEditor, change: ChangeInFile): void {
  reveal(editor, change);
  const line = cursorLine(change);
  const listener = vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => {
    if (textEditor !== editor) return;
    if (editor.selection.active.line === line) reveal(editor, change);
    else listener.dispose();
  });
  setTimeout(() => {
    listener.dispose();
  }, DRAWING);
}

function hunkTarget({ side: { item }, file }: ShownDiff): Target | undefined {
  if (isDecidedAsWhole(file)) return { uri: file.uri };
  const editor = vscode.window.activeTextEditor;
  if (!editor || !parseDiffUri(editor.document.uri)) return undefined;
  const side = editor.document.uri.scheme === scheme.base ? "base" : "proposed";
  // in a conflict, this side shows the user's text, but the hunks give the lines of the base
  if (side === "base" && file.state === "conflict") return undefined;
  const hunk = hunkAt(item === undefined ? file : editsOfStep(file, item), side, editor.selection.active.line + 1);
  return hunk && { uri: file.uri, hunk: hunk.id };
}

function proposedText(side: DiffSide): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find(({ uri }) => {
    const other = uri.scheme === scheme.proposed ? parseDiffUri(uri) : undefined;
    return other?.sessionId === side.sessionId && other.path === side.path && other.item === side.item;
  });
}

function showNoDiffOpen(): void {
  void showInformation(t("No proposed change is open. Open one in the Proposed Changes view."));
}
