// What the conversation shows in addition to its entries. Pure.

import { t } from "@vscode/l10n";
import { cardView, type Card } from "./cards";
import type { PromptView, StateView } from "./messages";
import { isBlocked, isWorking } from "../../state/waiting";
import type { Session } from "../../state/session";
import { usageSummary } from "../../ui/format";
import { activityText } from "../../ui/sessionTexts";
import { withVisibleTexts } from "../../ui/shownText";

/** Returns what to show for `session` (undefined: none). `idOf` is that of `cardView`. */
export function stateView(
  session: Session | undefined,
  cards: readonly Card[],
  idOf: (about: object | string) => string,
  prompt: Pick<PromptView, "agent" | "agents" | "chips" | "history" | "isHosted" | "model">,
): StateView {
  const { usage } = session ?? {};
  const isWaiting = session !== undefined && isBlocked(session);
  const { history, ...around } = prompt;
  return {
    ...withVisibleTexts({
      title: session?.title ?? "",
      replay: session?.recording ?? "",
      isRunning: session?.running ?? false,
      doing: session?.running ? doingText(session) : "",
    }),
    isWaiting,
    startedAt: (isWaiting ? undefined : session?.startedAt) ?? null,
    retryAt: (isWorking(session) ? session?.retry?.at : undefined) ?? null,
    cards: cards.map((card) => cardView(card, idOf)),
    prompt: {
      ...withVisibleTexts(around),
      history, // as the user typed them
      cost: session ? costText(session) : "",
      window: usage?.contextLimit ? Math.round((usage.contextTokens / usage.contextLimit) * 100) : null,
    },
  };
}

/** Returns what the last run has cost, and what the session has cost if that is more: by other runs, or the small model. */
function costText({ usage, row }: Session): string {
  const last = usage ? usageSummary(usage) : "";
  if (last === "") return "";
  const total = (row?.costUsd ?? 0).toFixed(2);
  const isMore = Number(total) > Number((usage?.costUsd ?? 0).toFixed(2));
  return [t("{0} tokens", last), isMore ? t("${0} in this session", total) : ""].filter(Boolean).join(" · ");
}

/** Returns what a running session does: whether it waits for the user, or what it works on. */
export function doingText(session: Session): string {
  return isBlocked(session) && !session.isStarting ? t("Waiting for you") : activityText(session);
}
