// The preview of a proposed hunk in the user's own file: a peek view with the proposed text, opened by a CodeLens.

import * as vscode from "vscode";
import { firstLine } from "./changeNavigation";
import { fileOf, proposedUri } from "./diffUris";
import type { DecideParams } from "../protocol";
import type { Store } from "../state";

interface PreviewParams extends Pick<DecideParams, "sessionId" | "target"> {
  /** The line of the user's text below which the preview opens, from 0. */
  readonly line: number;
}

export class Preview {
  private isOpen = false;

  constructor(private readonly store: Store) {}

  /** Shows the proposed lines below the CodeLens that was clicked. */
  async show({ sessionId, target, line }: PreviewParams): Promise<void> {
    if (!("hunk" in target)) return;
    const path = vscode.Uri.parse(target.uri).path;
    const file = fileOf(this.store.get(sessionId), path);
    const hunk = file?.hunks.find(({ id }) => id === target.hunk);
    const editor = vscode.window.visibleTextEditors.find(
      ({ document: { uri } }) => uri.scheme === "file" && uri.path === path,
    );
    // decided since, and VS Code still shows the CodeLens
    if (!file || !hunk || !editor) return;
    const start = firstLine(hunk) - 1;
    const proposed = new vscode.Range(start, 0, start + Math.max(0, hunk.newLines - 1), Number.MAX_SAFE_INTEGER);
    this.isOpen = true;
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
    if (!this.isOpen) return;
    this.isOpen = false;
    await vscode.commands.executeCommand("closeReferenceSearch");
  }
}
