// Diff editors of proposed changes: opened for a file, a change, a plan step or everything. A diff is closed once everything in
// it is decided, and what has the keyboard's focus then is the change that follows, or else what VS Code shows next.

import * as vscode from "vscode";
import { newName } from "./editRows";
import { relative } from "./editsView";
import { firstLine, editsOfStep, type ChangeLocation } from "./changeNavigation";
import type { DecideParams, FileEdits, Hunk } from "../protocol";
import { baseUri, fileOf, fileOrRenamed, proposedUri, parseDiffUri } from "./diffUris";
import type { Session } from "../session";
import type { Store } from "../state";
import { setContextKey } from "../ui/contextKeys";

/** What a multi-file diff shows: a session's proposals, or those of one of its plan steps. */
export interface MultiDiffContent {
  readonly sessionId: string;
  readonly item: string | undefined;
}

/** A multi-file diff as it was opened: VS Code does not change the files of one that is open. */
interface OpenMultiDiff extends MultiDiffContent {
  readonly uris: readonly string[];
}

/** The multi-file diffs that are open, by their labels: a tab tells nothing else, also when VS Code restores it in the next window. */
const MULTI_DIFFS_KEY = "fairlead.together";

/** How long the editors of a multi-file diff may take to be drawn, in milliseconds. */
const WAIT_FOR_EDITOR = 5000;

export class Diffs implements vscode.Disposable {
  private readonly multiDiffs: Map<string, OpenMultiDiff>;
  /** The tab in front while a decision is made in it. */
  private heldTab: vscode.Tab | undefined;
  private readonly disposables: { dispose(): unknown }[];

  constructor(
    private readonly store: Store,
    private readonly state: vscode.Memento,
  ) {
    this.multiDiffs = new Map(state.get<[string, OpenMultiDiff][]>(MULTI_DIFFS_KEY, []));
    const unsubscribe = store.onChange((change, session) => {
      if (change === "edits") void this.closeSettled([session]);
    });
    const tabs = vscode.window.tabGroups;
    const updateKey = (): void => {
      setContextKey("reviewInFront", this.activeMultiDiff !== undefined);
    };
    this.disposables = [
      { dispose: unsubscribe },
      tabs.onDidChangeTabs(updateKey),
      tabs.onDidChangeTabGroups(updateKey),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** The multi-file diff in front, if it is one of these: its tab is known by its label alone, to which VS Code adds a count. */
  get activeMultiDiff(): OpenMultiDiff | undefined {
    const tab = activeTab();
    return tab && this.multiDiffIn(tab);
  }

  /**
   * Keeps the tab in front open while `decide` runs, even if nothing is left in it, so that the focus goes from it to the next
   * change and is never lost in between. `decide` gets a function that tells whether the tab is still in front.
   */
  async keepActiveTabWhile(decide: (inFront: () => boolean) => Promise<void>): Promise<void> {
    const tab = activeTab();
    this.heldTab = tab;
    try {
      await decide(() => activeTab() === tab);
    } finally {
      if (this.heldTab === tab) this.heldTab = undefined;
      await this.closeSettled(this.store.sessions);
      if (!activeTab()) await vscode.commands.executeCommand("fairlead.edits.focus");
    }
  }

  /** Shows the change that follows a decision, in the diff in front where it is one of several files or of one plan step. */
  async showNext(place: ChangeLocation): Promise<void> {
    if (this.activeMultiDiff && (await this.goInMultiDiff("next", place.file))) return;
    const input = activeTab()?.input;
    const side = input instanceof vscode.TabInputTextDiff ? parseDiffUri(input.modified) : undefined;
    const item = side?.item;
    if (
      item === undefined ||
      item !== place.hunk?.itemId ||
      fileOf(this.store.get(place.sessionId), side?.path ?? "")?.uri !== place.file.uri
    ) {
      await this.open(place.sessionId, place.file, place.hunk);
      return;
    }
    await this.openStepDiff(place.sessionId, place.file, item, place.hunk);
  }

  /**
   * Goes to the next change of the multi-file diff in front or to the one before. Where its files are not those that are left
   * it is opened again, from `file` on. False where there is no such diff, or nothing is left in it.
   */
  async goInMultiDiff(direction: "next" | "previous", file: FileEdits): Promise<boolean> {
    const [tab, shown] = [activeTab(), this.activeMultiDiff];
    if (!tab || !shown) return false;
    const files = this.filesOf(shown);
    if (files.length === 0) return false;
    if (files.length === shown.uris.length && files.every(({ uri }) => shown.uris.includes(uri))) {
      await vscode.commands.executeCommand(
        direction === "next" ? "multiDiffEditor.goToNextChange" : "multiDiffEditor.goToPreviousChange",
      );
      return true;
    }
    const start = Math.max(
      0,
      files.findIndex(({ uri }) => uri === file.uri),
    );
    await this.openMultiDiff(labelOf(tab), [...files.slice(start), ...files.slice(0, start)], shown);
    return true;
  }

  /** Opens a file's diff, at a change where one is given. A conflict is shown between the person's file and the proposal. */
  async open(sessionId: string, file: FileEdits, hunk?: Hunk): Promise<void> {
    const options: vscode.TextDocumentShowOptions = { preview: true };
    if (hunk) options.selection = startOf(hunk);
    const current = vscode.Uri.parse(file.uri);
    const mine = (hunk ?? file).state === "conflict" && (await exists(current));
    const left = mine ? current : baseUri(sessionId, file);
    await vscode.commands.executeCommand("vscode.diff", left, proposedUri(sessionId, file), title(file, mine), options);
  }

  /** All proposals of all sessions, a multi-file diff for each. */
  async openAll(): Promise<void> {
    for (const session of this.store.reviewable) {
      const what = { sessionId: session.id, item: undefined };
      await this.openMultiDiff(
        this.uniqueLabel(`Proposed: ${session.title || "task"}`, what),
        this.filesOf(what),
        what,
      );
    }
    if (this.store.reviewable.length === 0) void vscode.window.showInformationMessage("There is nothing to review.");
  }

  /** What one plan step changed, and nothing else. */
  async openStepDiffs(sessionId: string, item: string, content: string): Promise<void> {
    const what = { sessionId, item };
    const files = this.filesOf(what);
    if (files.length > 0) await this.openMultiDiff(this.uniqueLabel(`Step: ${content}`, what), files, what);
    else void vscode.window.showInformationMessage("Nothing of this step is left to review.");
  }

  /** A file that was changed: what one step did to it where that is still to be reviewed, else the file as it is. */
  async openStepFile(sessionId: string, uri: string, item: string | undefined): Promise<void> {
    const current = vscode.Uri.parse(uri);
    const file = fileOrRenamed(this.store.get(sessionId), current.path);
    if (file && item !== undefined && file.itemIds.includes(item)) {
      await this.openStepDiff(sessionId, file, item);
    } else if (file) {
      await this.open(sessionId, file);
    } else if (await exists(current)) {
      await vscode.commands.executeCommand("vscode.open", current, { preview: true });
    } else {
      void vscode.window.showInformationMessage(`${relative(uri)} doesn't exist any more.`);
    }
  }

  /** The change that a CodeLens in a user's file belongs to. */
  async openTarget({ sessionId, target }: DecideParams): Promise<void> {
    const file = "uri" in target ? fileOf(this.store.get(sessionId), vscode.Uri.parse(target.uri).path) : undefined;
    if (file)
      await this.open(sessionId, file, "hunk" in target ? file.hunks.find(({ id }) => id === target.hunk) : undefined);
  }

  private async openStepDiff(sessionId: string, file: FileEdits, item: string, hunk?: Hunk): Promise<void> {
    const there = editsOfStep(file, item).hunks.find(({ id }) => id === hunk?.id);
    const options: vscode.TextDocumentShowOptions = { preview: true, ...(there ? { selection: startOf(there) } : {}) };
    await vscode.commands.executeCommand(
      "vscode.diff",
      baseUri(sessionId, file),
      proposedUri(sessionId, file, item),
      `${title(file, false)}, this step`,
      options,
    );
  }

  private multiDiffIn(tab: vscode.Tab): OpenMultiDiff | undefined {
    return tab.input instanceof vscode.TabInputText ? undefined : this.multiDiffs.get(labelOf(tab));
  }

  /** A label that no other multi-file diff has. */
  private uniqueLabel(wanted: string, what: MultiDiffContent): string {
    const taken = (label: string): boolean => {
      const other = this.multiDiffs.get(label);
      return other !== undefined && !isSameContent(other, what);
    };
    let label = wanted;
    for (let count = 2; taken(label); count++) label = `${wanted} · ${count}`;
    return label;
  }

  private filesOf({ sessionId, item }: MultiDiffContent): readonly FileEdits[] {
    return (
      this.store.get(sessionId)?.edits?.files.filter(({ itemIds }) => item === undefined || itemIds.includes(item)) ??
      []
    );
  }

  /**
   * Closes the diffs in which nothing is left to decide, unless they hold unsaved text of the user. Where the focus
   * is in one VS Code gives it to the editor that comes to the front.
   */
  private async closeSettled(sessions: readonly Session[]): Promise<void> {
    const isSettled = (tab: vscode.Tab): boolean =>
      !tab.isDirty && tab !== this.heldTab && sessions.some((session) => this.isSettled(tab, session));
    const settled = allTabs().filter(isSettled);
    if (settled.length > 0) await vscode.window.tabGroups.close(settled);
  }

  private isSettled(tab: vscode.Tab, session: Session): boolean {
    if (tab.input instanceof vscode.TabInputTextDiff) {
      const side = parseDiffUri(tab.input.modified);
      if (side?.sessionId !== session.id) return false;
      const file = fileOf(session, side.path);
      return !file || (side.item !== undefined && !file.itemIds.includes(side.item));
    }
    const shown = this.multiDiffIn(tab);
    return shown?.sessionId === session.id && this.filesOf(shown).length === 0;
  }

  /** Saves what the open multi-file diffs show for the next window, and forgets the others. */
  private async remember(): Promise<void> {
    const open = new Set(allTabs().map(labelOf));
    for (const label of this.multiDiffs.keys()) if (!open.has(label)) this.multiDiffs.delete(label);
    await this.state.update(MULTI_DIFFS_KEY, [...this.multiDiffs]);
  }

  /** Opens a multi-file diff in the place of an earlier one of the same changes, with the cursor in its first change. */
  private async openMultiDiff(label: string, files: readonly FileEdits[], what: MultiDiffContent): Promise<void> {
    const { sessionId, item } = what;
    const earlier = allTabs().filter((tab) => {
      const shown = this.multiDiffIn(tab);
      return shown && isSameContent(shown, what);
    });
    this.multiDiffs.set(label, { sessionId, item, uris: files.map(({ uri }) => uri) });
    // the same path on both sides, whatever the change is: else the header tells of a rename
    const resources = files.map((file) => [
      vscode.Uri.parse(file.uri),
      baseUri(sessionId, file),
      proposedUri(sessionId, file, item),
    ]);
    await vscode.commands.executeCommand("vscode.changes", label, resources);
    await vscode.commands.executeCommand("workbench.action.keepEditor");
    await vscode.window.tabGroups.close(earlier, true);
    await this.remember();
    const [first] = files;
    const [hunk] = first ? (item === undefined ? first : editsOfStep(first, item)).hunks : [];
    if (first && hunk) await putCursor(proposedUri(sessionId, first, item), startOf(hunk));
  }
}

/** VS Code puts the cursor into the first change automatically only where it has compared the texts within a second. */
async function putCursor(uri: vscode.Uri, place: vscode.Range): Promise<void> {
  const find = (): vscode.TextEditor | undefined =>
    vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri.toString());
  const editor =
    find() ??
    (await new Promise<vscode.TextEditor | undefined>((resolve) => {
      const stop = (found: vscode.TextEditor | undefined): void => {
        clearTimeout(timer);
        listener.dispose();
        resolve(found);
      };
      const timer = setTimeout(stop, WAIT_FOR_EDITOR, undefined);
      const listener = vscode.window.onDidChangeVisibleTextEditors(() => {
        const found = find();
        if (found) stop(found);
      });
    }));
  if (editor?.selection.isEqual(new vscode.Selection(0, 0, 0, 0)))
    editor.selection = new vscode.Selection(place.start, place.end);
}

const activeTab = (): vscode.Tab | undefined => vscode.window.tabGroups.activeTabGroup.activeTab;
const allTabs = (): vscode.Tab[] => vscode.window.tabGroups.all.flatMap((group) => group.tabs);
const labelOf = (tab: vscode.Tab): string => tab.label.replace(/ \(\d+ [^()]*\)$/, "");
const isSameContent = (one: MultiDiffContent, other: MultiDiffContent): boolean =>
  one.sessionId === other.sessionId && one.item === other.item;

function startOf(hunk: Hunk): vscode.Range {
  const line = firstLine(hunk) - 1;
  return new vscode.Range(line, 0, line, 0);
}

function title(file: FileEdits, mine: boolean): string {
  const path = relative(file.uri);
  const name = path.split("/").at(-1) ?? path;
  if (mine) return `${name} (yours ↔ proposed)`;
  switch (file.kind) {
    case "create":
      return `${name} (new file, proposed)`;
    case "delete":
      return `${name} (deleted, proposed)`;
    case "rename":
      return `${name} → ${newName(file, relative)} (renamed, proposed)`;
    case "modify":
      return `${name} (proposed)`;
  }
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false;
  }
}
