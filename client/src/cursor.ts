// Where the person is among the proposed changes: the diff in front and the line in it, or the row of the tree.

import * as vscode from "vscode";
import type { Diffs } from "./diffs";
import { hunkAt, neighbour, ofStep, places, whole, wholeLine, type Cursor } from "./places";
import { scheme, type FileEdits, type Target } from "./protocol";
import type { Decision, Review } from "./review";
import { fileAt, sideAt, type Side } from "./sides";
import type { Store } from "./state";

interface Shown {
  readonly side: Side;
  readonly file: FileEdits;
}

export class ReviewCursor {
  constructor(
    private readonly store: Store,
    private readonly review: Review,
    private readonly diffs: Diffs,
  ) {}

  /** Decides on the file whose diff is in front; where the diff shows one plan step, on what that step did to it. */
  async decideFile(decision: Decision): Promise<void> {
    const shown = this.shown();
    if (!shown) {
      tellNone();
      return;
    }
    for (const target of shownTargets(shown)) await this.review.decide(decision, { sessionId: shown.side.sessionId, target });
  }

  /** Decides on the change that the cursor stands in. */
  async decideHunk(decision: Decision): Promise<void> {
    const shown = this.shown();
    if (!shown) {
      tellNone();
      return;
    }
    const target = hunkTarget(shown);
    if (target) await this.review.decide(decision, { sessionId: shown.side.sessionId, target });
    else vscode.window.setStatusBarMessage("The cursor stands in no proposed change; nothing was done.", 5000);
  }

  /** Decides on all that the multi-file diff in front shows. */
  async decideShown(decision: Decision): Promise<void> {
    const shown = this.diffs.inFront;
    if (shown) await this.review.decide(decision, { sessionId: shown.sessionId, target: shown.item === undefined ? { all: true } : { item: shown.item } });
    else tellNone();
  }

  /** Rejects the file whose diff is in front, and says why. */
  async rejectFileWithReason(): Promise<void> {
    const shown = this.shown();
    if (shown) await this.review.rejectWithReason(shown.side.sessionId, { uri: shown.file.uri });
    else tellNone();
  }

  /** Goes to the next proposed change or to the one before, through all files. */
  async go(direction: "next" | "previous"): Promise<void> {
    const place = neighbour(places(this.store.reviewable), this.cursor(), direction);
    if (place) await this.diffs.open(place.sessionId, place.file, place.hunk);
    else void vscode.window.showInformationMessage("There is nothing to review.");
  }

  private cursor(): Cursor | undefined {
    const shown = this.shown();
    if (!shown) return undefined;
    const { side, file } = shown;
    const line = (vscode.window.activeTextEditor?.selection.active.line ?? 0) + 1;
    return { sessionId: side.sessionId, uri: file.uri, line: side.item === undefined ? line : wholeLine(file, side.item, line) };
  }

  private shown(): Shown | undefined {
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    // in a multi-file diff only the editor with the focus tells the file
    const uri = input instanceof vscode.TabInputTextDiff ? input.modified : vscode.window.activeTextEditor?.document.uri;
    const side = uri && sideAt(uri);
    const file = side && fileAt(this.store, side);
    // the base side of a step's diff is that of all steps
    return file && { side: { ...side, item: side.item ?? this.diffs.inFront?.item }, file };
  }
}

function shownTargets({ side: { item }, file }: Shown): Target[] {
  if (item === undefined || whole(file) || file.itemIds.every((id) => id === item)) return [{ uri: file.uri }];
  return file.hunks.filter(({ itemId }) => itemId === item).map(({ id }) => ({ uri: file.uri, hunk: id }));
}

function hunkTarget({ side: { item }, file }: Shown): Target | undefined {
  if (whole(file)) return { uri: file.uri };
  const editor = vscode.window.activeTextEditor;
  if (!editor || !sideAt(editor.document.uri)) return undefined;
  const side = editor.document.uri.scheme === scheme.base ? "base" : "proposed";
  const hunk = hunkAt(item === undefined ? file : ofStep(file, item), side, editor.selection.active.line + 1);
  return hunk && { uri: file.uri, hunk: hunk.id };
}

function tellNone(): void {
  void vscode.window.showInformationMessage("No proposed change is open. Open one from Proposed Changes.");
}
