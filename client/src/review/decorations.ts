// Decorations of files with proposed changes, in the Explorer, on tabs and in lists.

import * as vscode from "vscode";
import { throttled } from "../ui/throttle";
import { type Store } from "../state";

const PENDING = mark("P", "Proposed change to review", "fairlead.proposedForeground");
const CONFLICT = mark("!", "Proposed change conflicts with yours", "fairlead.conflictForeground");

export class Decorations implements vscode.FileDecorationProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri[]>();
  readonly onDidChangeFileDecorations = this.changed.event;
  private marks = new Map<string, vscode.FileDecoration>();
  private readonly redraw = throttled(() => {
    this.draw();
  });
  private readonly disposables: { dispose(): unknown }[];

  constructor(private readonly store: Store) {
    const unsubscribe = store.onChange((change) => {
      if (change === "edits") this.redraw.schedule();
    });
    this.disposables = [
      vscode.window.registerFileDecorationProvider(this),
      { dispose: unsubscribe },
      this.redraw,
      this.changed,
    ];
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    return this.marks.get(uri.toString());
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  private draw(): void {
    const marks = new Map<string, vscode.FileDecoration>();
    for (const file of this.store.reviewable.flatMap(({ edits }) => edits?.files ?? [])) {
      const uri = vscode.Uri.parse(file.uri).toString();
      if (marks.get(uri) !== CONFLICT) marks.set(uri, file.state === "conflict" ? CONFLICT : PENDING);
    }
    const others = [...new Set([...marks.keys(), ...this.marks.keys()])].filter(
      (uri) => marks.get(uri) !== this.marks.get(uri),
    );
    this.marks = marks;
    if (others.length > 0) this.changed.fire(others.map((uri) => vscode.Uri.parse(uri)));
  }
}

function mark(badge: string, tooltip: string, color: string): vscode.FileDecoration {
  const decoration = new vscode.FileDecoration(badge, tooltip, new vscode.ThemeColor(color));
  decoration.propagate = true;
  return decoration;
}
