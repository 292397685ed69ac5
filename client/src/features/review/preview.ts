// The preview of a proposed hunk in the user's own file: a peek view with the proposed text, opened by a CodeLens.

import * as vscode from "vscode";
import { firstLine } from "./changeNavigation";
import { fileOf, hunkOf, proposedUri } from "./diffUris";
import type { DecideParams } from "../../wire/protocol";
import type { Store } from "../../state/store";

/** A proposed change to a file. */
interface Shown {
  readonly sessionId: string;
  readonly uri: string;
  readonly hunk: string;
}

interface PreviewParams extends Pick<DecideParams, "sessionId" | "target"> {
  /** The line of the user's text below which the preview opens, from 0. */
  readonly line: number;
}

export class Preview implements vscode.Disposable {
  /** The change in the preview that was opened last. Stays set when the user closes the preview. */
  private shown: Shown | undefined;
  private readonly unsubscribe: () => void;

  constructor(private readonly store: Store) {
    this.unsubscribe = store.onChange(() => {
      if (this.shown && !hunkOf(this.store, this.shown.sessionId, this.shown)) void this.close();
    });
  }

  dispose(): void {
    this.unsubscribe();
  }

  /** Shows the proposed lines below the CodeLens that was clicked. */
  async show({ sessionId, target, line }: PreviewParams): Promise<void> {
    if (!("hunk" in target)) return;
    const path = vscode.Uri.parse(target.uri).path;
    const file = fileOf(this.store.get(sessionId), path);
    const hunk = hunkOf(this.store, sessionId, target);
    const editor = vscode.window.visibleTextEditors.find(
      ({ document: { uri } }) => uri.scheme === "file" && uri.path === path,
    );
    // VS Code may still show the CodeLens of a change that is decided
    if (!file || !hunk || !editor) return;
    const start = firstLine(hunk) - 1;
    const proposed = new vscode.Range(start, 0, start + Math.max(0, hunk.newLines - 1), Number.MAX_SAFE_INTEGER);
    this.shown = { sessionId, ...target };
    await vscode.commands.executeCommand(
      "editor.action.peekLocations",
      editor.document.uri,
      new vscode.Position(line, 0),
      [new vscode.Location(proposedUri(sessionId, file), proposed)],
      "peek",
    );
  }

  /** Closes the preview, for example because its change is decided. */
  async close(): Promise<void> {
    if (!this.shown) return;
    this.shown = undefined;
    await vscode.commands.executeCommand("closeReferenceSearch");
  }
}
