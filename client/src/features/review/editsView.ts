// The Proposed Changes view: files and their hunks, with buttons to accept and reject.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { countText } from "../../ui/format";
import {
  allRows,
  childRows,
  pendingFiles,
  type ReviewProgress,
  RISKS,
  parentRow,
  neighborRow,
  rowId,
  type EditRow,
  type Place,
} from "./editRows";
import { headline } from "./smallestMarks";
import { isAllInConflict, isDecidedAsWhole, isDeletedByUser } from "./changeNavigation";
import type { FileEdits, Hunk } from "../../wire/protocolStates";
import type { Store } from "../../state/store";
import { relative } from "../../ui/folders";
import { showHeader, treeItem, type TreeItem } from "../../ui/show";
import { rowUri, StoreTree } from "../../ui/tree";

const PROTECTED = new vscode.ThemeIcon("lock", new vscode.ThemeColor("charts.yellow"));
const PASSED = new vscode.ThemeIcon("pass", new vscode.ThemeColor("charts.green"));
const FAILED = new vscode.ThemeIcon("error", new vscode.ThemeColor("charts.red"));
const WEAKENED = new vscode.ThemeIcon("beaker", new vscode.ThemeColor("charts.orange"));
const CONFLICT = new vscode.ThemeIcon("warning", new vscode.ThemeColor("charts.orange"));

/** In a list of more files than this, files are below their folders, and collapsed at first. */
const MANY_FILES = 10;

export class EditsView extends StoreTree<EditRow> {
  /** Whether the files of this review were too many to expand all. Their number falls with each decision. */
  private isLong = false;
  /** The id of the row that was selected last for the cursor of the editor. */
  private followed = "";
  /** The last use of the selection in the queue: `focusedRow` reads and changes it. */
  private selecting: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly store: Store,
    private readonly progress: ReviewProgress,
  ) {
    super("fairlead.edits", store, (change) => ["edits", "sessions", "list"].includes(change));
  }

  getTreeItem(row: EditRow): TreeItem {
    const item = treeItem(textsOf(row), collapsibleState(row, this.isLong));
    // VS Code applies the state of a row only when it first gets the id, so that what the user folds stays
    item.id = this.isLong && row.kind === "file" ? `${rowId(row)} long` : rowId(row);
    item.contextValue = contextValue(row);
    switch (row.kind) {
      case "check":
        item.iconPath = row.result.passed ? PASSED : FAILED;
        item.command = { command: "fairlead.showCheck", title: t("Show Output"), arguments: [row] };
        break;
      case "session":
        break;
      case "weakened":
        item.iconPath = WEAKENED;
        break;
      case "folder":
        item.iconPath = vscode.ThemeIcon.Folder;
        break;
      case "file":
        if (!row.isWeakened) item.resourceUri = rowUri(row.sessionId, row.file.uri);
        item.iconPath = fileIcon(row.file);
        item.command = openCommand(row);
        break;
      case "hunk":
        item.iconPath = hunkIcon(row.hunk);
        item.command = openCommand(row);
        break;
    }
    return item;
  }

  /**
   * Calls `decide` with the focused row, or with undefined if that row is unknown. If `decide` removes the row, focuses
   * its neighbor (`neighborRow`).
   */
  async withFocused(decide: (row: EditRow | undefined) => Promise<void>): Promise<void> {
    const focused = this.selecting.then(() => this.focusedRow());
    this.selecting = focused.catch(() => undefined);
    const row = await focused;
    const neighbor = row && neighborRow(this.all, row);
    await decide(row);
    const left = this.all;
    const find = (one: EditRow): EditRow | undefined => left.find((other) => rowId(other) === rowId(one));
    const next = row && neighbor && !find(row) ? find(neighbor) : undefined;
    if (!next) return;
    this.selecting = this.selecting.then(() => this.select(next, true));
    await this.selecting;
  }

  get isVisible(): boolean {
    return this.view.visible;
  }

  /** Gives the focus to the row of a change or of a file. */
  async focus(place: Place): Promise<void> {
    const row = this.all.find((other) => rowId(other) === idOf(place));
    if (!row) return;
    this.selecting = this.selecting.then(() => this.select(row, true));
    await this.selecting;
  }

  /** Selects the row of a change or of a file, without the focus, if the list is visible and the row is another one. */
  follow(place: Place): void {
    const id = idOf(place);
    const row = this.all.find((other) => rowId(other) === id);
    if (!row || id === this.followed || !this.view.visible) return;
    this.followed = id;
    // a row that has just been decided is not known anymore
    const isWanted = (): boolean => this.followed === id && this.all.some((other) => rowId(other) === id);
    this.selecting = this.selecting.then(() => this.select(row, false, isWanted));
  }

  get onDidShow(): vscode.Event<unknown> {
    return this.view.onDidChangeVisibility;
  }

  private get all(): EditRow[] {
    return allRows(this.store.reviewable, relative, this.isLong);
  }

  protected keyOf(row: EditRow): string {
    return rowId(row);
  }

  getParent(row: EditRow): EditRow | undefined {
    return parentRow(this.all, row);
  }

  protected rows(row: EditRow | undefined): EditRow[] {
    const files = pendingFiles(this.store.reviewable);
    if (files === 0 || files > MANY_FILES) this.isLong = files > 0;
    return childRows(this.store.reviewable, row, relative, this.isLong);
  }

  protected updateHeader(): void {
    const files = pendingFiles(this.store.sessions);
    const found = this.store.reviewable.find(({ edits }) => edits?.smallest)?.edits?.smallest;
    showHeader(this.view, {
      message: found ? headline(found) : "",
      description: this.progress.describe(this.store.sessions),
      badge: files > 0 ? { value: files, tooltip: t("{0} to review", countText(files, "file")) } : undefined,
    });
  }
}

/** The id of the row of a change, or of a file that is decided as a whole. */
const idOf = ({ sessionId, file, hunk }: Place): string =>
  [sessionId, file.uri, ...(hunk && !isDecidedAsWhole(file) ? [hunk.id] : [])].join(" ");

type RowTexts = Parameters<typeof treeItem>[0];

function textsOf(row: EditRow): RowTexts {
  const { description } = row;
  switch (row.kind) {
    case "check":
      return { ...row, screenReaderLabel: t("Check of what you accepted: {0}", row.tooltip) };
    case "session": {
      const screenReaderLabel = t("Proposed in the session {0}, {1}", row.label, description);
      return { ...row, tooltip: `${row.label}\n${description}`, screenReaderLabel };
    }
    case "weakened":
      return { ...row, screenReaderLabel: `${row.label}, ${row.description}` };
    case "folder":
      return {
        ...row,
        tooltip: `${row.label}\n${description}`,
        screenReaderLabel: t("{0}, {1} proposed", row.label, description),
      };
    case "file": {
      const { uri } = row.file;
      const label = uri.split("/").at(-1) ? decodeURIComponent(uri.split("/").at(-1) ?? "") : uri;
      return { ...row, label, screenReaderLabel: t("{0}, proposed", row.tooltip.replace(/\n/g, ", ")) };
    }
    case "hunk":
      return { ...row, screenReaderLabel: `${row.tooltip.replace(/\n/g, ", ")}, ${description}` };
  }
}

function collapsibleState(row: EditRow, isLong: boolean): vscode.TreeItemCollapsibleState {
  const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;
  if (row.kind === "session" || row.kind === "folder" || row.kind === "weakened") return Expanded;
  if (row.kind !== "file" || row.isWeakened || isDecidedAsWhole(row.file)) return None;
  return isLong ? Collapsed : Expanded;
}

/**
 * Returns the words by which the menus in package.json choose the commands of a row. A row that is completely in
 * conflict, and a file that the user deleted, have other commands.
 */
function contextValue(row: EditRow): string {
  if (row.kind === "file" && isDeletedByUser(row.file)) return "file deleted";
  const conflict =
    row.kind === "hunk" ? row.hunk.state === "conflict" : row.kind === "file" && isAllInConflict(row.file);
  return conflict ? `${row.kind} conflict` : row.kind;
}

function fileIcon(file: FileEdits): vscode.ThemeIcon {
  if (file.state === "conflict") return CONFLICT;
  if (file.weakens.length > 0) return WEAKENED;
  if (file.protected) return PROTECTED;
  if (!file.risk) return vscode.ThemeIcon.File;
  const { icon, color } = RISKS[file.risk];
  return new vscode.ThemeIcon(icon, new vscode.ThemeColor(color));
}

function hunkIcon(hunk: Hunk): vscode.ThemeIcon {
  if (hunk.state === "conflict") return CONFLICT;
  if (hunk.weakens.length > 0) return WEAKENED;
  return new vscode.ThemeIcon(
    hunk.oldLines === 0 ? "diff-added" : hunk.newLines === 0 ? "diff-removed" : "diff-modified",
  );
}

function openCommand(row: EditRow): vscode.Command {
  return { command: "fairlead.openDiff", title: t("Open Diff"), arguments: [row] };
}
