// The diff editors of proposed changes: for a file, a change, a plan step or everything. A diff closes when everything in it is
// decided. The focus moves to the next change or, if there is none, to the editor that VS Code shows next.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { newName } from "./editRows";
import { relative } from "./editsView";
import { firstLine, editsOfStep, type ChangeLocation } from "./changeNavigation";
import type { DecideParams, FileEdits, Hunk } from "../protocol";
import { baseUri, fileOf, fileOrRenamed, proposedUri, parseDiffUri } from "./diffUris";
import { hasErrors } from "./problemTexts";
import { mustBeWithoutProposals } from "./staleness";
import { toRange } from "./problems";
import type { Session } from "../session";
import type { Store } from "../state";
import { setContextKey } from "../ui/contextKeys";

/** The content of a multi-file diff: all proposals of a session, or those of one plan step. */
export interface MultiDiffContent {
  readonly sessionId: string;
  readonly item: string | undefined;
}

/** An open multi-file diff with its files, which VS Code does not change while it is open. */
interface OpenMultiDiff extends MultiDiffContent {
  readonly uris: readonly string[];
}

/** Where the open multi-file diffs are saved, by tab label. The API gives only the label of such a tab, also after a restart. */
const MULTI_DIFFS_KEY = "fairlead.multiDiffs";

/** How long to wait for the editors of a multi-file diff, in milliseconds. */
const WAIT_FOR_EDITOR = 5000;

export class Diffs implements vscode.Disposable {
  private readonly multiDiffs: Map<string, OpenMultiDiff>;
  /** The active tab while a decision is made in it. */
  private heldTab: vscode.Tab | undefined;
  /** The tab that was active last. */
  private lastActive: vscode.Tab | undefined;
  /** The multi-file diff that is being opened. The next one opens after it. */
  private opening: Promise<void> = Promise.resolve();
  private readonly disposables: { dispose(): unknown }[];

  /** `restored` resolves to the ids of the saved sessions when those of an earlier window are loaded. */
  constructor(
    private readonly store: Store,
    private readonly state: vscode.Memento,
    restored: Promise<ReadonlySet<string>>,
  ) {
    this.multiDiffs = new Map(state.get<[string, OpenMultiDiff][]>(MULTI_DIFFS_KEY, []));
    const unsubscribe = store.onChange((change, session) => {
      if (change === "edits") void this.closeSettled([session]);
    });
    const tabs = vscode.window.tabGroups;
    const updateKey = (): void => {
      setContextKey("reviewInFront", this.activeMultiDiff !== undefined);
      const tab = activeTab();
      if (tab === this.lastActive) return;
      this.lastActive = tab;
      if (tab !== this.heldTab) void this.updateActive();
    };
    void restored.then(async (saved) => {
      await this.closeOrphans(saved);
      await this.updateActive();
    });
    this.disposables = [
      { dispose: unsubscribe },
      tabs.onDidChangeTabs(updateKey),
      tabs.onDidChangeTabGroups(updateKey),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** The active multi-file diff of proposed changes, if any. */
  get activeMultiDiff(): OpenMultiDiff | undefined {
    const tab = activeTab();
    return tab && this.multiDiffIn(tab);
  }

  /**
   * Keeps the active tab open while `decide` runs, even if nothing is left in it, so that the focus moves directly to the next
   * change. `decide` gets a function that returns whether the tab is still active.
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

  /** Shows the change that follows a decision: in the active diff, if that contains several files or one plan step. */
  async showNext(place: ChangeLocation, preserveFocus = false): Promise<void> {
    if (this.activeMultiDiff && (await this.goInMultiDiff("next", place.file))) return;
    const input = activeTab()?.input;
    const side = input instanceof vscode.TabInputTextDiff ? parseDiffUri(input.modified) : undefined;
    const item = side?.item;
    if (
      item === undefined ||
      item !== place.hunk?.itemId ||
      fileOf(this.store.get(place.sessionId), side?.path ?? "")?.uri !== place.file.uri
    ) {
      await this.open(place.sessionId, place.file, place.hunk, preserveFocus);
      return;
    }
    await this.openStepDiff(place.sessionId, place.file, item, place.hunk, preserveFocus);
  }

  /** Removes decided files from the active multi-file diff. The focus stays in the list of proposed changes. */
  async removeDecided(): Promise<void> {
    if (await this.updateActive()) await vscode.commands.executeCommand("fairlead.edits.focus");
  }

  /**
   * Goes to the next or previous change in the active multi-file diff. If it also shows decided files, opens it again, starting with
   * `file`. Returns false if there is no such diff, or nothing is left in it.
   */
  async goInMultiDiff(direction: "next" | "previous", file: FileEdits): Promise<boolean> {
    const [tab, shown] = [activeTab(), this.activeMultiDiff];
    if (!tab || !shown) return false;
    const files = this.filesOf(shown);
    if (files.length === 0) return false;
    if (isUpToDate(shown, files)) {
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

  /**
   * Opens a file's diff at a hunk; if none is given, at the first problem of the proposed text, if it has any. For a conflict, compares
   * the user's file with the proposal.
   */
  async open(sessionId: string, file: FileEdits, hunk?: Hunk, preserveFocus = false): Promise<void> {
    const options: vscode.TextDocumentShowOptions = { preview: true, preserveFocus };
    const [problem] = file.problems;
    if (hunk) options.selection = startOf(hunk);
    else if (problem) options.selection = toRange({ start: problem.range.start, end: problem.range.start });
    const current = vscode.Uri.parse(file.uri);
    const proposed = proposedUri(sessionId, file);
    const [left, label] =
      (hunk ?? file).state === "conflict" && (await exists(current))
        ? [current, t("{0} (yours ↔ proposed)", nameOf(file))]
        : [baseUri(sessionId, file), title(file)];
    await vscode.commands.executeCommand("vscode.diff", left, proposed, label, options);
  }

  /** Opens a multi-file diff for each session with proposals. */
  async openAll(): Promise<void> {
    for (const session of this.store.reviewable) {
      const what = { sessionId: session.id, item: undefined };
      await this.openMultiDiff(
        this.uniqueLabel(t("Proposed: {0}", session.title || t("task")), what),
        this.filesOf(what),
        what,
      );
    }
    if (this.store.reviewable.length === 0) void vscode.window.showInformationMessage(t("There is nothing to review."));
  }

  /** Opens a multi-file diff with only the changes of one plan step. */
  async openStepDiffs(sessionId: string, item: string, content: string): Promise<void> {
    const what = { sessionId, item };
    const files = this.filesOf(what);
    if (files.length > 0) await this.openMultiDiff(this.uniqueLabel(t("Step: {0}", content), what), files, what);
    else void vscode.window.showInformationMessage(t("This step has no changes left to review."));
  }

  /** Opens the first problem that the changes of a plan step cause. */
  async openStepProblem(sessionId: string, item: string): Promise<void> {
    const file = this.filesOf({ sessionId, item }).find(({ problems }) => hasErrors(problems));
    if (file) await this.open(sessionId, file);
    else void vscode.window.showInformationMessage(t("The errors of this step are gone."));
  }

  /**
   * Opens a changed file: at its first problem if it has one, else the step's changes if they are undecided, else the file's diff, else
   * the file.
   */
  async openStepFile(sessionId: string, uri: string, item: string | undefined): Promise<void> {
    const current = vscode.Uri.parse(uri);
    const file = fileOrRenamed(this.store.get(sessionId), current.path);
    if (file && item !== undefined && file.itemIds.includes(item) && file.problems.length === 0) {
      await this.openStepDiff(sessionId, file, item);
    } else if (file) {
      await this.open(sessionId, file);
    } else if (await exists(current)) {
      await vscode.commands.executeCommand("vscode.open", current, { preview: true });
    } else {
      void vscode.window.showInformationMessage(t("{0} no longer exists.", relative(uri)));
    }
  }

  /** Opens the change of a CodeLens in the user's file. */
  async openTarget({ sessionId, target }: DecideParams): Promise<void> {
    const file = "uri" in target ? fileOf(this.store.get(sessionId), vscode.Uri.parse(target.uri).path) : undefined;
    if (file)
      await this.open(sessionId, file, "hunk" in target ? file.hunks.find(({ id }) => id === target.hunk) : undefined);
  }

  private async openStepDiff(
    sessionId: string,
    file: FileEdits,
    item: string,
    hunk?: Hunk,
    preserveFocus = false,
  ): Promise<void> {
    const there = editsOfStep(file, item).hunks.find(({ id }) => id === hunk?.id);
    const selection = there ? { selection: startOf(there) } : {};
    const options: vscode.TextDocumentShowOptions = { preview: true, preserveFocus, ...selection };
    await vscode.commands.executeCommand(
      "vscode.diff",
      baseUri(sessionId, file),
      proposedUri(sessionId, file, item),
      t("{0}, this step", title(file)),
      options,
    );
  }

  private multiDiffIn(tab: vscode.Tab): OpenMultiDiff | undefined {
    return tab.input instanceof vscode.TabInputText ? undefined : this.multiDiffs.get(labelOf(tab));
  }

  /** `wanted`, with a number if another multi-file diff has this label. */
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
   * Closes the diffs in which everything is decided, unless they contain unsaved text. If the focus is in one of them, VS Code moves
   * it to the next editor.
   */
  private async closeSettled(sessions: readonly Session[]): Promise<void> {
    const isSettled = (tab: vscode.Tab): boolean =>
      !tab.isDirty && tab !== this.heldTab && sessions.some((session) => this.isSettled(tab, session));
    const settled = allTabs().filter(isSettled);
    if (settled.length > 0) await vscode.window.tabGroups.close(settled);
  }

  /** Closes the diffs of an earlier window whose proposals are gone or decided. */
  private async closeOrphans(saved: ReadonlySet<string>): Promise<void> {
    const orphans = allTabs().filter((tab) => {
      const id =
        tab.input instanceof vscode.TabInputTextDiff
          ? parseDiffUri(tab.input.modified)?.sessionId
          : this.multiDiffIn(tab)?.sessionId;
      return id !== undefined && !tab.isDirty && mustBeWithoutProposals(this.store.get(id), saved.has(id));
    });
    if (orphans.length > 0) await vscode.window.tabGroups.close(orphans);
  }

  /** Opens the active multi-file diff again if it no longer shows the files that it is about. Returns whether it did. */
  private async updateActive(): Promise<boolean> {
    const [tab, shown] = [activeTab(), this.activeMultiDiff];
    if (!tab || tab.isDirty || !shown) return false;
    const files = this.filesOf(shown);
    if (files.length === 0 || isUpToDate(shown, files)) return false;
    await this.openMultiDiff(labelOf(tab), files, shown);
    return true;
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

  /** Saves the content of the open multi-file diffs for the next window. */
  private async remember(): Promise<void> {
    const open = new Set(allTabs().map(labelOf));
    for (const label of this.multiDiffs.keys()) if (!open.has(label)) this.multiDiffs.delete(label);
    await this.state.update(MULTI_DIFFS_KEY, [...this.multiDiffs]);
  }

  /** Opens a multi-file diff with the cursor in its first change. Replaces an open one with the same content. */
  private async openMultiDiff(label: string, files: readonly FileEdits[], what: MultiDiffContent): Promise<void> {
    const { sessionId, item } = what;
    const replaced = this.opening.then(() => this.replaceMultiDiff(label, files, what));
    this.opening = replaced.catch(() => undefined);
    await replaced;
    const [first] = files;
    const [hunk] = first ? (item === undefined ? first : editsOfStep(first, item)).hunks : [];
    if (first && hunk) await putCursor(proposedUri(sessionId, first, item), startOf(hunk));
  }

  private async replaceMultiDiff(label: string, files: readonly FileEdits[], what: MultiDiffContent): Promise<void> {
    const { sessionId, item } = what;
    const isActive = (): boolean => labelOf(activeTab()) === label;
    const known = this.multiDiffs.get(label);
    // a click on its tab and a decision in it can both ask for the same update
    if (known && isActive() && isUpToDate(known, files)) return;
    const earlier = allTabs().filter((tab) => {
      const shown = this.multiDiffIn(tab);
      return shown && isSameContent(shown, what);
    });
    this.multiDiffs.set(label, { sessionId, item, uris: files.map(({ uri }) => uri) });
    // with different paths on the two sides, the header would show a rename
    const resources = files.map((file) => [
      vscode.Uri.parse(file.uri),
      baseUri(sessionId, file),
      proposedUri(sessionId, file, item),
    ]);
    await vscode.commands.executeCommand("vscode.changes", label, resources);
    // the command acts on the active editor, and the user may have chosen another one since
    if (isActive()) await vscode.commands.executeCommand("workbench.action.keepEditor");
    // VS Code refuses to close any tab if one of them is gone
    const open = new Set(allTabs());
    await vscode.window.tabGroups.close(earlier.filter((tab) => open.has(tab)));
    await this.remember();
  }
}

/** Puts the cursor into the first change. VS Code does this only if it has compared the texts within a second. */
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
const labelOf = (tab: vscode.Tab | undefined): string => tab?.label.replace(/ \(\d+ [^()]*\)$/, "") ?? "";
const isUpToDate = ({ uris }: OpenMultiDiff, files: readonly FileEdits[]): boolean =>
  files.length === uris.length && files.every(({ uri }) => uris.includes(uri));
const isSameContent = (one: MultiDiffContent, other: MultiDiffContent): boolean =>
  one.sessionId === other.sessionId && one.item === other.item;

function startOf(hunk: Hunk): vscode.Range {
  const line = firstLine(hunk) - 1;
  return new vscode.Range(line, 0, line, 0);
}

function nameOf(file: FileEdits): string {
  const path = relative(file.uri);
  return path.split("/").at(-1) ?? path;
}

function title(file: FileEdits): string {
  const name = nameOf(file);
  switch (file.kind) {
    case "create":
      return t("{0} (new file, proposed)", name);
    case "delete":
      return t("{0} (deleted, proposed)", name);
    case "rename":
      return t("{0} → {1} (renamed, proposed)", name, newName(file, relative));
    case "modify":
      return t("{0} (proposed)", name);
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
