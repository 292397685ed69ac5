// Marks the files that have proposed changes, in the Explorer, on tabs and in lists. Also marks the rows of files whose
// proposed text has errors.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { drawnFrom } from "../../ui/throttle";
import type { FileEdits } from "../../wire/protocolStates";
import type { Store } from "../../state/store";
import { rowUri } from "../../ui/tree";
import { errorCount } from "../../ui/problemTexts";

const PENDING = mark("P", t("Proposed change to review"), "fairlead.proposedForeground");
const CONFLICT = mark("!", t("Proposed change conflicts with yours"), "fairlead.conflictForeground");

/** Shows the marks until the result is disposed. */
export function decorateFiles(store: Store): vscode.Disposable {
  const changed = new vscode.EventEmitter<vscode.Uri[]>();
  let shown = new Map<string, vscode.FileDecoration>();
  const draw = (): void => {
    const marks = new Map<string, vscode.FileDecoration>();
    for (const { id, edits } of store.reviewable) {
      for (const file of edits?.files ?? []) {
        const uri = vscode.Uri.parse(file.uri).toString();
        if (marks.get(uri) !== CONFLICT) marks.set(uri, file.state === "conflict" ? CONFLICT : PENDING);
        const problems = problemMark(file);
        if (problems) marks.set(rowUri(id, file.uri).toString(), problems);
      }
    }
    const uris = [...new Set([...marks.keys(), ...shown.keys()])];
    const changedUris = uris.filter((uri) => !isSame(marks.get(uri), shown.get(uri)));
    shown = marks;
    if (changedUris.length > 0) changed.fire(changedUris.map((uri) => vscode.Uri.parse(uri)));
  };
  const provider = vscode.window.registerFileDecorationProvider({
    onDidChangeFileDecorations: changed.event,
    provideFileDecoration: (uri) => shown.get(uri.toString()),
  });
  const redraw = drawnFrom(store, draw, (change) => change === "edits");
  return vscode.Disposable.from(provider, redraw, changed);
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
