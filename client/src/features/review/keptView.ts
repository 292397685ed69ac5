// Keeps the change at the cursor of a multi-file diff in view. VS Code jumps to the start of a file if the file becomes
// higher or lower while its end is in view: when it is shown for the first time, and with the space beside a change that
// has been decided.

import * as vscode from "vscode";
import { parseDiffUri } from "./diffUris";

/** How long VS Code may need to draw a file, in milliseconds. */
const DRAWING = 2000;
/** The fewest lines of a jump. A wheel moves fewer at once. */
const JUMP = 6;

/** What an editor showed last. */
interface Place {
  /** The first visible line, from 0. */
  readonly top: number;
  readonly isCursorVisible: boolean;
}

export class KeptView implements vscode.Disposable {
  private readonly places = new WeakMap<vscode.TextEditor, Place>();
  /** When VS Code has drawn everything, as in `performance.now`. */
  private end = 0;
  private readonly disposables: vscode.Disposable[];

  /** `isInFront`: whether a multi-file diff of proposed changes is in front. */
  constructor(isInFront: () => boolean) {
    this.disposables = [
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (parseDiffUri(document.uri) && isInFront()) this.start();
      }),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
        // VS Code scrolls to a cursor that was moved out of view
        if (!isCursorVisible(textEditor)) this.places.set(textEditor, { top: 0, isCursorVisible: false });
      }),
      vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => {
        if (parseDiffUri(textEditor.document.uri)) this.follow(textEditor);
      }),
    ];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Call this when VS Code is about to draw a file of the diff. */
  start(): void {
    this.end = performance.now() + DRAWING;
    const editor = vscode.window.activeTextEditor;
    if (editor) this.places.set(editor, placeOf(editor));
  }

  private follow(editor: vscode.TextEditor): void {
    const [before, now] = [this.places.get(editor), placeOf(editor)];
    this.places.set(editor, now);
    const isJump = before !== undefined && before.top - now.top >= JUMP;
    if (!isJump || performance.now() > this.end || editor !== vscode.window.activeTextEditor) return;
    const { active } = editor.selection;
    if (before.isCursorVisible)
      editor.revealRange(new vscode.Range(active, active), vscode.TextEditorRevealType.InCenter);
    else editor.revealRange(new vscode.Range(before.top, 0, before.top, 0), vscode.TextEditorRevealType.AtTop);
  }
}

const placeOf = (editor: vscode.TextEditor): Place => ({
  top: editor.visibleRanges[0]?.start.line ?? 0,
  isCursorVisible: isCursorVisible(editor),
});

const isCursorVisible = ({ selection: { active }, visibleRanges }: vscode.TextEditor): boolean =>
  visibleRanges.some(({ start, end }) => active.line >= start.line && active.line <= end.line);
