// The problems of proposed texts as diagnostics of the proposed documents: in the Problems view, and as squiggles in
// the diffs.

import * as vscode from "vscode";
import type { Diagnostic } from "../../wire/protocolStates";
import type { Change } from "../../state/session";
import type { Store } from "../../state/store";
import { errorIn } from "../../ui/show";
import { drawnFrom } from "../../ui/throttle";
import { proposedUri } from "./diffUris";

/** Shows the problems until the result is disposed. */
export function showProposedProblems(store: Store): vscode.Disposable {
  const collection = vscode.languages.createDiagnosticCollection("fairlead");
  /** The problems that are shown for each document, as JSON, so that only changed ones are set again. */
  let shown = new Map<string, string>();
  const show = (): void => {
    const found = new Map<string, string>();
    const changed: [vscode.Uri, vscode.Diagnostic[]][] = [];
    for (const { id, edits } of store.reviewable) {
      for (const file of edits?.files ?? []) {
        if (file.problems.length === 0) continue;
        const [uri, text] = [proposedUri(id, file), JSON.stringify(file.problems)];
        found.set(uri.toString(), text);
        if (shown.get(uri.toString()) !== text) changed.push([uri, file.problems.map(toDiagnostic)]);
      }
    }
    for (const uri of shown.keys()) if (!found.has(uri)) collection.delete(vscode.Uri.parse(uri));
    collection.set(changed);
    shown = found;
  };
  const isRelevant = (change: Change): boolean => change === "edits" || change === "sessions";
  return vscode.Disposable.from(drawnFrom(store, show, isRelevant), collection);
}

/** Converts a problem of a proposed text. The server sends only errors (docs/protocol.md, `FileEdits`). */
function toDiagnostic({ range, message, source }: Diagnostic): vscode.Diagnostic {
  return errorIn(toRange(range), message, source ?? "Fairlead");
}

export function toRange({ start, end }: Diagnostic["range"]): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}
