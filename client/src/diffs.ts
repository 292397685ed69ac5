// Diff editors of proposed changes: opened for a file, a change, a plan step or everything, and closed once all in them is
// decided.

import * as vscode from "vscode";
import { newName } from "./editRows";
import { relative } from "./editsView";
import { firstLine } from "./places";
import type { FileEdits, Hunk } from "./protocol";
import { baseUri, fileOf, proposedUri, sideAt } from "./sides";
import type { Session, Store } from "./state";

/** What a multi-file diff shows: a session's proposals, or those of one of its plan steps. */
export interface Together {
  readonly sessionId: string;
  readonly item: string | undefined;
}

export class Diffs implements vscode.Disposable {
  private readonly together = new Map<string, Together>();
  private readonly disposables: { dispose(): unknown }[];

  constructor(private readonly store: Store) {
    const unsubscribe = store.onChange((change, session) => {
      if (change === "edits") void this.closeSettled(session);
    });
    const tabs = vscode.window.tabGroups;
    const tell = (): void => void vscode.commands.executeCommand("setContext", "fairlead.reviewInFront", this.inFront !== undefined);
    this.disposables = [{ dispose: unsubscribe }, tabs.onDidChangeTabs(tell), tabs.onDidChangeTabGroups(tell)];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** The multi-file diff in front, if it is one of these: its tab is known by its label alone, to which VS Code adds a count. */
  get inFront(): Together | undefined {
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    return tab && this.shownTogether(tab);
  }

  /** Opens a file's diff, at a change where one is given. A conflict is shown between the person's file and the proposal. */
  async open(sessionId: string, file: FileEdits, hunk?: Hunk): Promise<void> {
    const options: vscode.TextDocumentShowOptions = { preview: true };
    if (hunk) {
      const line = firstLine(hunk) - 1;
      options.selection = new vscode.Range(line, 0, line, 0);
    }
    const current = vscode.Uri.parse(file.uri);
    const mine = (hunk ?? file).state === "conflict" && (await exists(current));
    const left = mine ? current : baseUri(sessionId, file);
    await vscode.commands.executeCommand("vscode.diff", left, proposedUri(sessionId, file), title(file, mine), options);
  }

  /** All proposals of all sessions, a multi-file diff for each. */
  async openAll(): Promise<void> {
    for (const session of this.store.reviewable) {
      await this.openTogether(`Proposed: ${session.title || "task"}`, session.edits?.files ?? [], { sessionId: session.id, item: undefined });
    }
    if (this.store.reviewable.length === 0) void vscode.window.showInformationMessage("There is nothing to review.");
  }

  /** What one plan step changed, and nothing else. */
  async openStep(sessionId: string, item: string, content: string): Promise<void> {
    const files = this.store.get(sessionId)?.edits?.files.filter(({ itemIds }) => itemIds.includes(item)) ?? [];
    if (files.length > 0) await this.openTogether(`Step: ${content}`, files, { sessionId, item });
    else void vscode.window.showInformationMessage("Nothing of this step is left to review.");
  }

  /** A file that was changed: what one step did to it where that is still to be reviewed, else the file as it is. */
  async openChanged(sessionId: string, uri: string, item: string | undefined): Promise<void> {
    const current = vscode.Uri.parse(uri);
    const file = fileOf(this.store.get(sessionId), current.path);
    if (file && item !== undefined && file.itemIds.includes(item)) {
      await vscode.commands.executeCommand("vscode.diff", baseUri(sessionId, file), proposedUri(sessionId, file, item), `${title(file, false)}, this step`, { preview: true });
    } else if (file) {
      await this.open(sessionId, file);
    } else if (await exists(current)) {
      await vscode.commands.executeCommand("vscode.open", current, { preview: true });
    } else {
      void vscode.window.showInformationMessage(`${relative(uri)} is not there.`);
    }
  }

  private shownTogether(tab: vscode.Tab): Together | undefined {
    return tab.input instanceof vscode.TabInputText ? undefined : this.together.get(tab.label.replace(/ \(\d+ [^()]*\)$/, ""));
  }

  /** Closes the diffs in which nothing is left to decide, unless there is unsaved text of the person's in them. */
  private async closeSettled(session: Session): Promise<void> {
    const settled = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter((tab) => !tab.isDirty && this.isSettled(tab, session));
    if (settled.length > 0) await vscode.window.tabGroups.close(settled, true);
  }

  private isSettled(tab: vscode.Tab, session: Session): boolean {
    if (tab.input instanceof vscode.TabInputTextDiff) {
      const side = sideAt(tab.input.modified);
      return side?.sessionId === session.id && !fileOf(session, side.path);
    }
    const shown = this.shownTogether(tab);
    if (shown?.sessionId !== session.id) return false;
    const { item } = shown;
    return !session.edits?.files.some(({ itemIds }) => item === undefined || itemIds.includes(item));
  }

  private async openTogether(label: string, files: readonly FileEdits[], what: Together): Promise<void> {
    const { sessionId, item } = what;
    this.together.set(label, what);
    // the same path on both sides, whatever the change is: else the header tells of a rename
    const resources = files.map((file) => [vscode.Uri.parse(file.uri), baseUri(sessionId, file), proposedUri(sessionId, file, item)]);
    await vscode.commands.executeCommand("vscode.changes", label, resources);
    await vscode.commands.executeCommand("workbench.action.keepEditor");
  }
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
