// The diff editors of proposed changes: for a file, a change, a plan step or everything. A diff closes when everything
// in it is decided. After a decision in a diff, the focus moves to the next change. If there is none, it moves to the
// editor that VS Code shows next or, without any, to the Proposed Changes view.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { newName } from "./editRows";
import { firstExisting, relative } from "../../ui/folders";
import { editsOfStep, type ChangeLocation } from "./changeNavigation";
import type { DecideParams } from "../../wire/protocol";
import type { FileEdits, Hunk } from "../../wire/protocolStates";
import { baseUri, fileOf, fileOrRenamed, proposedUri, parseDiffUri } from "./diffUris";
import { MultiDiffs, startOf, type MultiDiffContent } from "./multiDiffs";
import { hasNoProposalsLeft } from "./staleness";
import { toRange } from "./problems";
import type { Session } from "../../state/session";
import type { Store } from "../../state/store";
import { setContextKey } from "../../ui/contextKeys";
import { activeTab, allTabs } from "../../ui/window";
import { openDiff, showInformation } from "../../ui/show";

export class Diffs implements vscode.Disposable {
  private readonly multiDiffs: MultiDiffs;
  /** The active tab while a decision is made in it. */
  private heldTab: vscode.Tab | undefined;
  /** The tab that was active last. */
  private lastActive: vscode.Tab | undefined;
  private readonly disposables: { dispose(): unknown }[];

  /** `restored` resolves to the ids of all saved sessions when the sessions of an earlier window are loaded. */
  constructor(
    private readonly store: Store,
    state: vscode.Memento,
    restored: Promise<ReadonlySet<string>>,
    /** Gives the focus to what the user sees beside the editors, when the last diff is closed. */
    private readonly leaveEditors: () => unknown,
  ) {
    this.multiDiffs = new MultiDiffs(store, state);
    const unsubscribe = store.onChange((change, session) => {
      if (change === "edits") void this.closeSettled([session]);
    });
    const tabs = vscode.window.tabGroups;
    const onTabsChanged = (): void => {
      setContextKey("reviewInFront", this.multiDiffs.active !== undefined);
      const tab = activeTab();
      if (tab === this.lastActive) return;
      this.lastActive = tab;
      if (tab !== this.heldTab) void this.multiDiffs.updateActive();
    };
    void restored.then(async (saved) => {
      await this.closeOrphans(saved);
      await this.multiDiffs.updateActive();
    });
    this.disposables = [
      { dispose: unsubscribe },
      this.multiDiffs,
      tabs.onDidChangeTabs(onTabsChanged),
      tabs.onDidChangeTabGroups(onTabsChanged),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** The active multi-file diff of proposed changes, if any. */
  get activeMultiDiff(): MultiDiffContent | undefined {
    return this.multiDiffs.active;
  }

  /**
   * Keeps the active tab open while `decide` runs, even if nothing is left in it, so that the focus moves directly to
   * the next change. Then closes the diffs in which everything is decided. `decide` gets a function that returns
   * whether the tab is still active.
   */
  async keepActiveTabWhile(decide: (isActive: () => boolean) => Promise<void>): Promise<void> {
    const tab = activeTab();
    this.heldTab = tab;
    try {
      await decide(() => activeTab() === tab);
    } finally {
      if (this.heldTab === tab) this.heldTab = undefined;
      await this.closeSettled(this.store.sessions);
      if (!activeTab()) await this.leaveEditors();
    }
  }

  /**
   * Shows the change that follows a decision. Stays in the active diff if that is a multi-file diff, or if it shows the
   * change's file with only the change's plan step. Otherwise opens the diff of that file.
   */
  async showNext(location: ChangeLocation, preserveFocus = false): Promise<void> {
    if (await this.multiDiffs.go("next", location)) return;
    const input = activeTab()?.input;
    const side = input instanceof vscode.TabInputTextDiff ? parseDiffUri(input.modified) : undefined;
    const item = side?.item;
    if (
      item === undefined ||
      item !== location.hunk?.itemId ||
      fileOf(this.store.get(location.sessionId), side?.path ?? "")?.uri !== location.file.uri
    ) {
      await this.open(location.sessionId, location.file, location.hunk, preserveFocus);
      return;
    }
    await this.openStepDiff(location.sessionId, location.file, item, location.hunk, preserveFocus);
  }

  /** See `MultiDiffs.show`. */
  showInMultiDiff(location: ChangeLocation): Promise<boolean> {
    return this.multiDiffs.show(location);
  }

  /** Goes to the next or previous change in the active multi-file diff (see `MultiDiffs.go`). */
  goInMultiDiff(direction: "next" | "previous", location: ChangeLocation): Promise<boolean> {
    return this.multiDiffs.go(direction, location);
  }

  /**
   * Runs `decide`, then removes decided files from the active multi-file diff. Also removes them while `decide` waits
   * for the user's answer.
   */
  async updateMultiDiffWhile(decide: () => Promise<unknown>): Promise<void> {
    const unsubscribe = this.store.onChange((change) => {
      if (change === "approvals") void this.multiDiffs.updateActive();
    });
    try {
      await decide();
    } finally {
      unsubscribe();
    }
    await this.multiDiffs.updateActive();
  }

  /**
   * Removes decided files from the active multi-file diff. If there were any, gives the focus to the list of proposed
   * changes, where the decision was made.
   */
  async removeDecidedFiles(): Promise<void> {
    if (await this.multiDiffs.updateActive()) await vscode.commands.executeCommand("fairlead.edits.focus");
  }

  /**
   * Opens a file's diff at a hunk. If no hunk is given, opens it at the first problem of the proposed text, if there is
   * one. The diff of a conflict shows the user's text on the left.
   */
  async open(sessionId: string, file: FileEdits, hunk?: Hunk, preserveFocus = false): Promise<void> {
    const options: vscode.TextDocumentShowOptions = { preview: true, preserveFocus };
    const [problem] = file.problems;
    if (hunk) options.selection = startOf(hunk);
    else if (problem) options.selection = toRange({ start: problem.range.start, end: problem.range.start });
    const label = (hunk ?? file).state === "conflict" ? t("{0} (yours ↔ proposed)", baseName(file)) : title(file);
    await openDiff([baseUri(sessionId, file), proposedUri(sessionId, file)], label, options);
  }

  /** Opens a multi-file diff for each session with proposals. */
  async openAll(): Promise<void> {
    for (const session of this.store.reviewable) {
      const diff = { sessionId: session.id, item: undefined };
      await this.multiDiffs.openAs(t("Proposed: {0}", session.title || t("task")), diff);
    }
    if (this.store.reviewable.length === 0) void showInformation(t("There is nothing to review."));
  }

  /** Opens a multi-file diff of the proposals of a session. Does nothing if it has none. */
  async openSession(sessionId: string): Promise<void> {
    const session = this.store.reviewable.find(({ id }) => id === sessionId);
    if (session) await this.multiDiffs.openAs(t("Proposed: {0}", session.title), { sessionId, item: undefined });
  }

  /** Opens a multi-file diff with only the changes of one plan step. */
  async openStepDiffs(sessionId: string, item: string, content: string): Promise<void> {
    const diff = { sessionId, item };
    if (this.multiDiffs.filesOf(diff).length > 0) await this.multiDiffs.openAs(t("Step: {0}", content), diff);
    else void showInformation(t("This step has no changes left to review."));
  }

  /** Opens the first problem in the proposed files that contain changes of a plan step. */
  async openStepProblem(sessionId: string, item: string): Promise<void> {
    const file = this.multiDiffs.filesOf({ sessionId, item }).find(({ problems }) => problems.length > 0);
    if (file) await this.open(sessionId, file);
    else void showInformation(t("The errors of this step are gone."));
  }

  /**
   * Opens a file that a step or work outside of the plan changed: the file's diff at its first problem if it has one,
   * else the diff of the step's changes if they are undecided, else the file's diff if anything is proposed, else the
   * file.
   */
  async openStepFile(sessionId: string, uri: string, item: string | undefined): Promise<void> {
    const current = vscode.Uri.parse(uri);
    const file = fileOrRenamed(this.store.get(sessionId), current.path);
    if (file && item !== undefined && file.itemIds.includes(item) && file.problems.length === 0) {
      await this.openStepDiff(sessionId, file, item);
    } else if (file) {
      await this.open(sessionId, file);
    } else if (await firstExisting([current])) {
      await vscode.commands.executeCommand("vscode.open", current, { preview: true });
    } else {
      void showInformation(t("{0} no longer exists.", relative(uri)));
    }
  }

  /**
   * Opens the diff of a file, or of its new path, at the change at a line (from 1; null: none) or after it. Returns false
   * if nothing is proposed for the file.
   */
  async openAt(sessionId: string, uri: vscode.Uri, line: number | null): Promise<boolean> {
    const file = fileOrRenamed(this.store.get(sessionId), uri.path);
    const isAtLine = ({ newStart, newLines }: Hunk): boolean => line !== null && line < newStart + newLines;
    if (file) await this.open(sessionId, file, file.hunks.find(isAtLine));
    return file !== undefined;
  }

  /** Opens the diff of the change that a CodeLens in the user's file is about. */
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
    const stepHunk = editsOfStep(file, item).hunks.find(({ id }) => id === hunk?.id);
    const selection = stepHunk ? { selection: startOf(stepHunk) } : {};
    const options: vscode.TextDocumentShowOptions = { preview: true, preserveFocus, ...selection };
    const sides = [baseUri(sessionId, file), proposedUri(sessionId, file, item)] as const;
    await openDiff(sides, t("{0}, this step", title(file)), options);
  }

  /**
   * Closes the diffs in which everything is decided, unless they contain unsaved text or a decision is being made in
   * them. If one of them has the focus, VS Code then focuses the next editor.
   */
  private async closeSettled(sessions: readonly Session[]): Promise<void> {
    const isSettled = (tab: vscode.Tab): boolean =>
      !tab.isDirty && tab !== this.heldTab && sessions.some((session) => this.isSettled(tab, session));
    const settled = allTabs().filter(isSettled);
    if (settled.length > 0) await vscode.window.tabGroups.close(settled);
  }

  /** Closes the diffs of an earlier window whose proposals are gone or decided, unless they contain unsaved text. */
  private async closeOrphans(saved: ReadonlySet<string>): Promise<void> {
    const orphans = allTabs().filter((tab) => {
      const id =
        tab.input instanceof vscode.TabInputTextDiff
          ? parseDiffUri(tab.input.modified)?.sessionId
          : this.multiDiffs.contentOf(tab)?.sessionId;
      return id !== undefined && !tab.isDirty && hasNoProposalsLeft(this.store.get(id), saved.has(id));
    });
    if (orphans.length > 0) await vscode.window.tabGroups.close(orphans);
  }

  private isSettled(tab: vscode.Tab, session: Session): boolean {
    if (tab.input instanceof vscode.TabInputTextDiff) {
      const side = parseDiffUri(tab.input.modified);
      if (side?.sessionId !== session.id) return false;
      const file = fileOf(session, side.path);
      return !file || (side.item !== undefined && !file.itemIds.includes(side.item));
    }
    const shown = this.multiDiffs.contentOf(tab);
    return shown?.sessionId === session.id && this.multiDiffs.filesOf(shown).length === 0;
  }
}

function baseName(file: FileEdits): string {
  const path = relative(file.uri);
  return path.split("/").at(-1) ?? path;
}

function title(file: FileEdits): string {
  const name = baseName(file);
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
