// What a session waits for: the user's answers, approval of its plan, or Continue after a pause. Pure.

import { t } from "@vscode/l10n";
import type { ApproveParams, ApproveResult, AskParams, RunError } from "../wire/protocol";
import { endingOf, type EndEntry, type Session } from "./session";

/** The user's answer to an approval. The last two first ask for a rule or for the reason. */
export type Answer = ApproveResult["option"] | "allow_always" | "reject_because";

/** What the user can do about something that waits, in a notice and in the conversation. */
export type WaitingAction =
  | { readonly kind: "decide"; readonly approval: ApproveParams; readonly option: Answer }
  | { readonly kind: "show"; readonly approval: ApproveParams }
  | { readonly kind: "answer"; readonly question: AskParams }
  | { readonly kind: "reply"; readonly question: AskParams; readonly text: string }
  | { readonly kind: "continueRun"; readonly sessionId: string };

/** Returns the number of answers that a session waits for: approvals and questions. */
export function openRequests(session: Session | undefined): number {
  return session ? session.approvals.length + session.questions.length : 0;
}

/**
 * Returns the number of things that wait for the user in all sessions: approvals, questions, pauses and plans. Does not
 * count the pause and the plan of the active session, because the views show them.
 */
export function waitingCount(sessions: readonly Session[], active: Session | undefined): number {
  const hidden = sessions.filter((session) => session !== active && needsDecision(session));
  return sessions.reduce((sum, session) => sum + openRequests(session), hidden.length);
}

/** Returns the sessions that wait for the user, apart from the shown one. */
export function otherWaiting(sessions: readonly Session[], shown: Session | undefined): Session[] {
  return sessions.filter((session) => session !== shown && (openRequests(session) > 0 || needsDecision(session)));
}

/**
 * Whether the session continues only if the user says so: it paused in this window, or its plan waits for approval. A
 * pause from an earlier window does not count.
 */
export function needsDecision(session: Session): boolean {
  return session.pause !== undefined || isReadyToGo(session);
}

/**
 * Whether the agent cannot continue without an answer. While only a protected file waits for confirmation, it
 * continues.
 */
export function isBlocked({ approvals, questions }: Session): boolean {
  return questions.length > 0 || !approvals.every(isOwnAccept);
}

/** Whether an approval confirms the user's own accept of a protected file, as opposed to what the agent wants to do. */
export const isOwnAccept = ({ kind, toolCallId }: Pick<ApproveParams, "kind" | "toolCallId">): boolean =>
  kind === "file" && toolCallId === null;

/** Whether the agent is running and does not wait for the user. */
export function isWorking(session: Session | undefined): boolean {
  return session?.running === true && !isBlocked(session);
}

/** Why a working agent has been waiting for a while to send its request again; undefined if it has not. */
export function lastingFailure(session: Session): RunError | undefined {
  return isWorking(session) && session.retry?.isLong ? session.retry.error : undefined;
}

/** In how many seconds a working agent asks the model again after a failure; 0 if it is not waiting for that. */
export function secondsToRetry(session: Session | undefined, now = Date.now()): number {
  return isWorking(session) && session?.retry ? Math.max(0, Math.ceil((session.retry.at - now) / 1000)) : 0;
}

/**
 * Returns why a session is paused, even if it paused in an earlier window or its server ended; undefined if it is
 * running or not paused.
 */
export function pauseReason(session: Session | undefined): string | undefined {
  if (!session || session.running) return undefined;
  const { pause, row } = session;
  const isPausedHere = row?.phase === "paused" && !row.openElsewhere;
  return pause?.reason ?? (isPausedHere ? t("The run stopped before it finished.") : undefined);
}

/** Why a run paused, by its stop reason (docs/protocol.md, `RunResult`). */
const PAUSE_TITLES: Readonly<Record<string, string>> = {
  budget: t("The budget is used up."),
  loop: t("The model made no progress."),
  max_turn_requests: t("The limit of rounds is reached."),
};

/** Returns why a session is paused, in a few words. */
export function pauseTitle(session: Session): string {
  const end = session.entries.findLast((entry): entry is EndEntry => entry.kind === "end");
  if (end?.stopReason === "lost")
    return session.runsStarted === 0 ? t("The window was reloaded.") : t("The agent's server stopped.");
  return PAUSE_TITLES[end?.stopReason ?? ""] ?? t("The run paused before it finished.");
}

/**
 * Returns the end of the last run, if the user can continue that run although it did not pause: it failed, was stopped
 * or did not finish.
 */
export function earlyEnd(session: Session): EndEntry | undefined {
  const last = session.entries.at(-1);
  if (session.running || pauseReason(session) !== undefined || last?.kind !== "end") return undefined;
  const ending = endingOf(last);
  return ending === "done" || ending === "paused" ? undefined : last;
}

/**
 * Returns what happened to a run that ended early, and the label of the button that continues it; undefined if it cannot
 * continue.
 */
export function earlyEndTexts(end: EndEntry): { readonly title: string; readonly button: string | undefined } {
  if (end.error?.kind === "replay_ended") return { title: t("The recording has ended."), button: undefined };
  return endingOf(end) === "failed"
    ? { title: t("The run ended with an error."), button: t("Retry") }
    : { title: t("The run did not finish."), button: t("Continue") };
}

/**
 * Whether there is a plan that the user can approve: it awaits approval, the session is not running, and at least one
 * step is not completed.
 */
export function isReadyToGo(session: Session | undefined): boolean {
  const { plan, running } = session ?? {};
  return plan?.awaitsApproval === true && !running && plan.total > plan.completed;
}
