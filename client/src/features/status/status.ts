// The status bar items: what the agents of all sessions do and wait for, how much is left to review, and the model.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { relative } from "../../ui/folders";
import { showStatus, statusItem } from "../../ui/show";
import { cut } from "../../ui/shownText";
import { reviewText, statusTexts } from "./statusTexts";
import type { ChosenModels } from "../../server/chosenModels";
import type { HostedAgents } from "../../server/hostedAgents";
import { endpointTitle } from "../../server/settings";
import { drawnFrom } from "../../ui/throttle";
import type { Store } from "../../state/store";

const SECOND = 1000;
/** The characters of the model in the status bar. Its tooltip has the rest. */
const MAX_MODEL = 40;

/**
 * Shows the items until the result is disposed. `countFiles` counts the proposed files: those that are left to review,
 * and all of them.
 */
export function showStatusItems(
  store: Store,
  countFiles: () => { readonly left: number; readonly total: number },
): vscode.Disposable {
  const agentItem = statusItem("fairlead.status", "Agent", 100);
  const reviewItem = statusItem("fairlead.review", "Agent: Review", 99);
  reviewItem.command = "fairlead.nextChange";
  let countdown: NodeJS.Timeout | undefined;
  const drawReview = (): void => {
    const { left, total } = countFiles();
    if (left === 0) {
      reviewItem.hide();
      return;
    }
    const tooltip = t("Left to review: {0} of {1} proposed files.\nShow the next change.", left, total);
    showStatus(reviewItem, { icon: "diff-multiple", text: reviewText(left, total), tooltip });
  };
  const draw = (): void => {
    drawReview();
    clearTimeout(countdown);
    const { active, sessions } = store;
    if (sessions.length === 0) {
      agentItem.hide();
      return;
    }
    const now = Date.now();
    const { isWaiting, ...texts } = statusTexts(active, sessions, now, relative);
    agentItem.backgroundColor = isWaiting ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    agentItem.command = isWaiting ? "fairlead.answer" : "fairlead.plan.focus";
    showStatus(agentItem, texts);
    // the text counts the seconds until a failed request is sent again
    if (active?.retry && active.retry.at > now) countdown = setTimeout(draw, SECOND);
  };
  draw();
  const stop = new vscode.Disposable(() => {
    clearTimeout(countdown);
  });
  return vscode.Disposable.from(drawnFrom(store, draw), stop, agentItem, reviewItem);
}

/**
 * Shows the model of the shown session, or of a new one, or its hosted agent, until the result is disposed. A click lets the user choose, or
 * set up a model if there is none.
 */
export function showModelItem(store: Store, models: ChosenModels, agents: HostedAgents): vscode.Disposable {
  const item = statusItem("fairlead.model", "Agent: Model", 97);
  const draw = (): void => {
    if (store.hosted !== "") {
      item.command = "fairlead.chooseAgent";
      const texts = [agents.title, agents.optionsLabel].filter(Boolean);
      const tooltip = [...texts, t("Choose who works")].join("\n");
      showStatus(item, { icon: "sparkle", text: cut(texts.join(" · "), MAX_MODEL), tooltip });
      return;
    }
    const { label, current, isSet, isReplayed } = models;
    if (!isSet) {
      item.command = "fairlead.setUpModel";
      showStatus(item, { icon: "sparkle", text: t("No Model"), tooltip: t("Set up a model.") });
      return;
    }
    if (label === "" || store.active?.recording) {
      item.hide();
      return;
    }
    if (isReplayed) {
      item.command = undefined;
      showStatus(item, { icon: "sparkle", text: label, tooltip: t("A recording replaces the model.") });
      return;
    }
    item.command = "fairlead.chooseModel";
    const tooltip = [label, endpointTitle(current.endpoint), t("Choose another model.")];
    const texts = { text: cut(label, MAX_MODEL), tooltip: tooltip.filter(Boolean).join("\n") };
    showStatus(item, { icon: "sparkle", ...texts });
  };
  draw();
  const redraw = drawnFrom(store, draw);
  return vscode.Disposable.from(redraw, models.onDidChange(redraw.schedule), agents.onDidChange(redraw.schedule), item);
}
