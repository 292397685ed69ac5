// The open multi-file diffs: all proposals of a session, or those of one plan step. VS Code does not change the list of
// files of an open multi-file diff, so a diff is opened again when its list changes.

import * as vscode from "vscode";
import { editsOfStep, firstLine, type ChangeLocation } from "./changeNavigation";
import { baseUri, proposedUri } from "./diffUris";
import { KeptView } from "./keptView";
import type { FileEdits, Hunk } from "../../wire/protocolStates";
import type { Store } from "../../state/store";
import { openMultiDiff } from "../../ui/show";
import { lineText } from "../../ui/shownText";
import { activeTab, allTabs } from "../../ui/window";

/** The content of a multi-file diff: all proposals of a session, or those of one plan step. */
export interface MultiDiffContent {
  readonly sessionId: string;
  readonly item: string | undefined;
}

/** An open multi-file diff, and the files that it was opened with. */
interface OpenMultiDiff extends MultiDiffContent {
  readonly uris: readonly string[];
}

/**
 * Where the content of the open multi-file diffs is saved, by tab label. The API gives only the label of such a tab.
 */
const MULTI_DIFFS_KEY = "fairlead.multiDiffs";

/** How long to wait for the editors of a multi-file diff, in milliseconds. */
const WAIT_FOR_EDITOR = 5000;
/** How long VS Code may need to read and compare the texts of a diff, in milliseconds. */
const WAIT_FOR_TEXTS = 2000;

export class MultiDiffs implements vscode.Disposable {
  private readonly open: Map<string, OpenMultiDiff>;
  private readonly view = new KeptView(() => this.active !== undefined);
  /** How often a change was gone to. A later key must not be undone when an earlier one has opened a diff. */
  private moves = 0;
  /** Keeps the cursor at a change for a while. */
  private placing: vscode.Disposable | undefined;
  /** Resolves when the diff that is being opened is open. The next one opens after it. */
  private opening: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: Store,
    private readonly state: vscode.Memento,
  ) {
    const saved = state.get<[string, MultiDiffContent][]>(MULTI_DIFFS_KEY, []);
    // VS Code may restore a tab with an older list of files than the saved one, or two tabs of one diff. So the saved
    // URIs are not used: without URIs, a diff is out of date and opens again when its tab is active
    this.open = new Map(saved.map(([label, { sessionId, item }]) => [label, { sessionId, item, uris: [] }]));
  }

  dispose(): void {
    this.placing?.dispose();
    this.view.dispose();
  }

  /** The active multi-file diff, if any. */
  get active(): OpenMultiDiff | undefined {
    const tab = activeTab();
    return tab && this.contentOf(tab);
  }

  /** Returns what a tab shows, if it is a multi-file diff of proposed changes. */
  contentOf(tab: vscode.Tab): OpenMultiDiff | undefined {
    return tab.input instanceof vscode.TabInputText ? undefined : this.open.get(labelOf(tab));
  }

  /** Returns the label `wanted`, with a number if a multi-file diff with other content already has this label. */
  private uniqueLabel(wanted: string, content: MultiDiffContent): string {
    const isTaken = (label: string): boolean => {
      const other = this.open.get(label);
      return other !== undefined && !isSameContent(other, content);
    };
    let label = wanted;
    for (let count = 2; isTaken(label); count++) label = `${wanted} · ${count}`;
    return label;
  }

  /** The proposed files that a multi-file diff should show now. */
  filesOf({ sessionId, item }: MultiDiffContent): readonly FileEdits[] {
    return (
      this.store.get(sessionId)?.edits?.files.filter(({ itemIds }) => item === undefined || itemIds.includes(item)) ??
      []
    );
  }

  /**
   * Goes to the next or previous change in the active multi-file diff. If the files that it should show have changed,
   * opens it again instead, at `location`. Returns false if no multi-file diff is active, or nothing is left in it.
   */
  async go(direction: "next" | "previous", location: ChangeLocation): Promise<boolean> {
    const [tab, shown] = [activeTab(), this.active];
    if (!tab || !shown) return false;
    const files = this.filesOf(shown);
    if (files.length === 0) return false;
    if (!tab.isDirty && !isUpToDate(shown, files)) return this.show(location);
    this.moves++;
    this.placing?.dispose();
    this.view.start();
    await vscode.commands.executeCommand(
      direction === "next" ? "multiDiffEditor.goToNextChange" : "multiDiffEditor.goToPreviousChange",
    );
    return true;
  }

  /**
   * Goes to a change in the active multi-file diff. Opens the diff again, starting with the file of the change, if its
   * files have changed or if VS Code has not drawn that file. Returns whether a multi-file diff is active.
   */
  async show({ sessionId, file, hunk }: ChangeLocation): Promise<boolean> {
    const [tab, shown] = [activeTab(), this.active];
    if (!tab || !shown) return false;
    if (tab.isDirty) return true;
    const files = this.filesOf(shown);
    const start = sessionId === shown.sessionId ? files.findIndex(({ uri }) => uri === file.uri) : -1;
    if (start < 0) {
      await this.updateActive();
      return true;
    }
    const move = ++this.moves;
    const uri = proposedUri(sessionId, file, shown.item);
    if (!isUpToDate(shown, files) || !editorOf(uri))
      await this.openMultiDiff(labelOf(tab), [...files.slice(start), ...files.slice(0, start)], shown, true);
    const wanted = changesOf(file, shown.item).find(({ id }) => id === hunk?.id);
    const editor = wanted && (await shownEditor(uri));
    if (wanted && editor && move === this.moves) this.placeCursor(editor, startOf(wanted));
    return true;
  }

  /**
   * Opens the active multi-file diff again if its files have changed, unless it contains unsaved text or nothing is
   * left in it. Returns whether it did.
   */
  async updateActive(): Promise<boolean> {
    const [tab, shown] = [activeTab(), this.active];
    if (!tab || tab.isDirty || !shown) return false;
    const files = this.filesOf(shown);
    if (files.length === 0 || isUpToDate(shown, files)) return false;
    await this.openMultiDiff(labelOf(tab), files, shown);
    return true;
  }

  /** Opens a multi-file diff with this label. Adds a number to the label if another diff has it. */
  async openAs(label: string, content: MultiDiffContent): Promise<void> {
    await this.openMultiDiff(this.uniqueLabel(lineText(label), content), this.filesOf(content), content);
  }

  /** Saves the content of the open multi-file diffs for the next window, and forgets the closed ones. */
  private async remember(): Promise<void> {
    const open = new Set(allTabs().map(labelOf));
    for (const label of this.open.keys()) if (!open.has(label)) this.open.delete(label);
    await this.state.update(MULTI_DIFFS_KEY, [...this.open]);
  }

  /**
   * Opens a multi-file diff with the cursor in its first change. Replaces an open one with the same content, if the files
   * of that are others or `again` is true.
   */
  private async openMultiDiff(
    label: string,
    files: readonly FileEdits[],
    content: MultiDiffContent,
    again = false,
  ): Promise<void> {
    const { sessionId, item } = content;
    const replaced = this.opening.then(() => this.replaceMultiDiff(label, files, content, again));
    this.opening = replaced.catch(() => undefined);
    await replaced;
    const [first] = files;
    const [hunk] = first ? changesOf(first, item) : [];
    if (first && hunk) await putCursor(proposedUri(sessionId, first, item), startOf(hunk));
  }

  /**
   * Puts the cursor at a change, and again if VS Code moves it. VS Code puts it at the first change when it has opened a
   * diff, and moves it when it reads the new text of a side.
   */
  private placeCursor(editor: vscode.TextEditor, range: vscode.Range): void {
    this.placing?.dispose();
    this.view.start();
    const place = (): void => {
      editor.selection = new vscode.Selection(range.start, range.end);
      editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    };
    place();
    const { Keyboard, Mouse } = vscode.TextEditorSelectionChangeKind;
    const listener = vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
      if (kind === Keyboard || kind === Mouse) placing.dispose();
      else if (textEditor === editor && !editor.selection.isEqual(range)) place();
    });
    const timer = setTimeout(() => {
      placing.dispose();
    }, WAIT_FOR_TEXTS);
    const placing = new vscode.Disposable(() => {
      clearTimeout(timer);
      listener.dispose();
    });
    this.placing = placing;
  }

  private async replaceMultiDiff(
    label: string,
    files: readonly FileEdits[],
    content: MultiDiffContent,
    again: boolean,
  ): Promise<void> {
    const { sessionId, item } = content;
    const isActive = (): boolean => labelOf(activeTab()) === label;
    const known = this.open.get(label);
    // a click on its tab and a decision in it can both ask for the same update
    if (!again && known && isActive() && isUpToDate(known, files)) return;
    const hasThisContent = (tab: vscode.Tab): boolean => {
      const shown = this.contentOf(tab);
      return shown !== undefined && isSameContent(shown, content);
    };
    const earlier = new Set(allTabs().filter(hasThisContent));
    this.open.set(label, { sessionId, item, uris: files.map(({ uri }) => uri) });
    // with different paths on the two sides, the header would show a rename
    const resources = files.map((file) => [
      vscode.Uri.parse(file.uri),
      baseUri(sessionId, file),
      proposedUri(sessionId, file, item),
    ]);
    await openMultiDiff(label, resources);
    // the command acts on the active editor, and the user may have chosen another one since
    if (isActive()) await vscode.commands.executeCommand("workbench.action.keepEditor");
    const opened = activeTab();
    const isOpened = opened !== undefined && hasThisContent(opened) && !earlier.has(opened);
    // VS Code may have replaced the tab objects in `earlier`, so compare with the new tab, unless the user has chosen
    // another tab since
    const isStale = (tab: vscode.Tab): boolean => (isOpened ? tab !== opened && hasThisContent(tab) : earlier.has(tab));
    await vscode.window.tabGroups.close(allTabs().filter(isStale));
    await this.remember();
  }
}

/**
 * Puts the cursor at a change, unless it was moved already. VS Code does this itself only if it has compared the texts
 * within a second.
 */
async function putCursor(uri: vscode.Uri, range: vscode.Range): Promise<void> {
  const editor = await shownEditor(uri);
  if (editor?.selection.isEqual(new vscode.Selection(0, 0, 0, 0)))
    editor.selection = new vscode.Selection(range.start, range.end);
}

const editorOf = (uri: vscode.Uri): vscode.TextEditor | undefined =>
  vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri.toString());

/** Waits for an editor of a multi-file diff. Returns undefined if it does not appear. */
async function shownEditor(uri: vscode.Uri): Promise<vscode.TextEditor | undefined> {
  return (
    editorOf(uri) ??
    (await new Promise<vscode.TextEditor | undefined>((resolve) => {
      const stop = (found: vscode.TextEditor | undefined): void => {
        clearTimeout(timer);
        listener.dispose();
        resolve(found);
      };
      const timer = setTimeout(stop, WAIT_FOR_EDITOR, undefined);
      const listener = vscode.window.onDidChangeVisibleTextEditors(() => {
        const found = editorOf(uri);
        if (found) stop(found);
      });
    }))
  );
}

/** The changes of a file that a diff shows. */
const changesOf = (file: FileEdits, item: string | undefined): readonly Hunk[] =>
  (item === undefined ? file : editsOfStep(file, item)).hunks;

/** Returns the label without the number of files, which VS Code appends. */
const labelOf = (tab: vscode.Tab | undefined): string => tab?.label.replace(/ \(\d+ [^()]*\)$/, "") ?? "";
const isUpToDate = ({ uris }: OpenMultiDiff, files: readonly FileEdits[]): boolean =>
  files.length === uris.length && files.every(({ uri }) => uris.includes(uri));
const isSameContent = (one: MultiDiffContent, other: MultiDiffContent): boolean =>
  one.sessionId === other.sessionId && one.item === other.item;

/** Returns where the cursor goes to show a hunk. */
export function startOf(hunk: Hunk): vscode.Range {
  const line = firstLine(hunk) - 1;
  return new vscode.Range(line, 0, line, 0);
}
