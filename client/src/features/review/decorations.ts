// Marks the files that have proposed changes, in the Explorer, on tabs and in lists. Also marks the rows of files whose
// proposed text has errors.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { drawnFrom } from "../../ui/throttle";
import type { FileEdits } from "../../wire/protocolStates";
import { type Store } from "../../state/store";
import { rowUri } from "../../ui/tree";
import { errorCount } from "../../ui/problemTexts";

const PENDING = mark("P", t("Proposed change to review"), "fairlead.proposedForeground");
const CONFLICT = mark("!", t("Proposed change conflicts with yours"), "fairlead.conflictForeground");

export class Decorations implements vscode.FileDecorationProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri[]>();
  readonly onDidChangeFileDecorations = this.changed.event;
  private marks = new Map<string, vscode.FileDecoration>();
  private readonly disposables: { dispose(): unknown }[];

  constructor(private readonly store: Store) {
    this.disposables = [
      vscode.window.registerFileDecorationProvider(this),
      drawnFrom(store, this.draw, (change) => change === "edits"),
      this.changed,
    ];
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    return this.marks.get(uri.toString());
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  private readonly draw = (): void => {
    const marks = new Map<string, vscode.FileDecoration>();
    for (const { id, edits } of this.store.reviewable) {
      for (const file of edits?.files ?? []) {
        const uri = vscode.Uri.parse(file.uri).toString();
        if (marks.get(uri) !== CONFLICT) marks.set(uri, file.state === "conflict" ? CONFLICT : PENDING);
        const problems = problemMark(file);
        if (problems) marks.set(rowUri(id, file.uri).toString(), problems);
      }
    }
    const changedUris = [...new Set([...marks.keys(), ...this.marks.keys()])].filter(
      (uri) => !isSame(marks.get(uri), this.marks.get(uri)),
    );
    this.marks = marks;
    if (changedUris.length > 0) this.changed.fire(changedUris.map((uri) => vscode.Uri.parse(uri)));
  };
}

const isSame = (one: vscode.FileDecoration | undefined, other: vscode.FileDecoration | undefined): boolean =>
  one?.badge === other?.badge && one?.tooltip === other?.tooltip;

function problemMark({ problems }: FileEdits): vscode.FileDecoration | undefined {
  const count = problems.length;
  if (count === 0) return undefined;
  const color = new vscode.ThemeColor("list.errorForeground");
  return new vscode.FileDecoration(count > 9 ? "9+" : String(count), errorCount(count), color);
}

function mark(badge: string, tooltip: string, color: string): vscode.FileDecoration {
  const decoration = new vscode.FileDecoration(badge, tooltip, new vscode.ThemeColor(color));
  decoration.propagate = true;
  return decoration;
}
