// Where the user is in the review: the list selects the row of the change at the cursor, and the status bar counts.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { Store } from "../../state/store";
import { showStatus, statusItem } from "../../ui/show";
import { delayed } from "../../ui/throttle";
import type { ReviewCursor } from "./cursor";
import { positionText } from "./editRows";
import type { EditsView } from "./editsView";
import type { InlineChanges } from "./inlineChanges";

/** The pause before the cursor is followed, in milliseconds. */
const PAUSE = 100;

export function followEditor(
  store: Store,
  cursor: ReviewCursor,
  inline: InlineChanges,
  view: EditsView,
): vscode.Disposable {
  const item = statusItem("fairlead.position", "Agent: Position in Review", 98);
  item.command = "fairlead.nextChange";
  const update = delayed(() => {
    const { place } = cursor;
    const text = place && positionText(store.reviewable, place);
    if (text) showStatus(item, { icon: "location", text, tooltip: t("Show the next change.") });
    else item.hide();
    if (place) view.follow(place);
  }, PAUSE);
  const unsubscribe = store.onChange((change) => {
    if (change === "edits") update.schedule();
  });
  return vscode.Disposable.from(
    vscode.window.onDidChangeTextEditorSelection(update.schedule),
    vscode.window.onDidChangeActiveTextEditor(update.schedule),
    vscode.window.tabGroups.onDidChangeTabs(update.schedule),
    inline.onDidShow(update.schedule),
    view.onDidShow(update.schedule),
    new vscode.Disposable(unsubscribe),
    update,
    item,
  );
}
