// The problems of proposed texts as diagnostics of the proposed documents: in the Problems view, and as squiggles in
// the diffs.

import * as vscode from "vscode";
import type { Diagnostic } from "../../wire/protocolStates";
import type { Store } from "../../state/store";
import { errorIn } from "../../ui/show";
import { drawnFrom } from "../../ui/throttle";
import { proposedUri } from "./diffUris";

export class ProposedProblems implements vscode.Disposable {
  private readonly shown = vscode.languages.createDiagnosticCollection("fairlead");
  /** The problems that are shown for each document, as JSON, so that only changed ones are set again. */
  private shownProblems = new Map<string, string>();
  private readonly disposables: { dispose(): unknown }[];

  constructor(private readonly store: Store) {
    this.disposables = [
      drawnFrom(store, this.show, (change) => change === "edits" || change === "sessions"),
      this.shown,
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  private readonly show = (): void => {
    const found = new Map<string, string>();
    const changed: [vscode.Uri, vscode.Diagnostic[]][] = [];
    for (const { id, edits } of this.store.reviewable) {
      for (const file of edits?.files ?? []) {
        if (file.problems.length === 0) continue;
        const [uri, text] = [proposedUri(id, file), JSON.stringify(file.problems)];
        found.set(uri.toString(), text);
        if (this.shownProblems.get(uri.toString()) !== text) changed.push([uri, file.problems.map(toDiagnostic)]);
      }
    }
    for (const uri of this.shownProblems.keys()) if (!found.has(uri)) this.shown.delete(vscode.Uri.parse(uri));
    this.shown.set(changed);
    this.shownProblems = found;
  };
}

/** Converts a problem of a proposed text. The server sends only errors (docs/protocol.md, `File`). */
function toDiagnostic({ range, message, source }: Diagnostic): vscode.Diagnostic {
  return errorIn(toRange(range), message, source ?? "Fairlead");
}

export function toRange({ start, end }: Diagnostic["range"]): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}
