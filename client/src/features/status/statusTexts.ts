// What the status bar says about all sessions. Pure.

import { t } from "@vscode/l10n";
import { planCount } from "../../ui/stepRow";
import { describeApproval } from "../../ui/approvalTexts";
import { sessionName } from "../../ui/sessionTexts";
import { needsDecision, pauseReason, secondsToRetry, waitingCount } from "../../state/waiting";
import type { Session } from "../../state/session";
import { contextUsage, countText, usageSummary } from "../../ui/format";
import { lineText } from "../../ui/shownText";

export interface AgentTexts {
  readonly icon: string;
  readonly text: string;
  readonly tooltip: string;
  /** Whether something waits for the user, apart from a pause or a plan of the session that the views show. */
  readonly isWaiting: boolean;
}

/**
 * Returns the texts of the status bar item about the agents. `active` is the session that the views show, if any. `now`
 * is in milliseconds since the epoch. `relative` converts a URI to a path for display.
 */
export function statusTexts(
  active: Session | undefined,
  sessions: readonly Session[],
  now: number,
  relative: (uri: string) => string,
): AgentTexts {
  const waiting = waitingCount(sessions, active);
  const running = sessions.filter((session) => session.running);
  const others = running.length - Number(active?.running === true);
  const isPaused = pauseReason(active) !== undefined;
  const retrySeconds = secondsToRetry(active, now);
  const icon = waiting > 0 ? "question" : running.length > 0 ? "sync~spin" : isPaused ? "debug-pause" : "checklist";
  const what =
    waiting > 0
      ? [
          t("Agent: {0} waiting for you", waiting),
          retrySeconds > 0 ? t("the shown session is retrying in {0} s", retrySeconds) : "",
        ]
          .filter(Boolean)
          .join(" · ")
      : retrySeconds > 0
        ? t("Agent: retrying in {0} s", retrySeconds)
        : [activeText(active, isPaused), othersText(others, active?.running === true)].filter(Boolean).join(" · ");
  return {
    icon,
    text: `${what}${active?.recording ? t(" (replay)") : ""}`,
    tooltip: tooltip(active, sessions, relative),
    isWaiting: waiting > 0,
  };
}

/**
 * Returns how many proposed files are left to review, such as `100 files to review`, or `12 of 100 left` after the
 * first decisions.
 */
export function reviewText(left: number, total: number): string {
  return left < total ? t("{0} of {1} left", left, total) : t("{0} to review", countText(left, "file"));
}

function othersText(others: number, isActiveRunning: boolean): string {
  if (others === 0) return "";
  return isActiveRunning ? t("{0} more running", others) : t("{0} running", others);
}

function activeText(session: Session | undefined, isPaused: boolean): string {
  if (session?.isStarting) return t("Agent: starting");
  const what = ["Agent", isPaused ? t("paused") : "", planCount(session?.plan)];
  return [what.filter(Boolean).join(" "), session?.usage ? usageSummary(session.usage) : ""]
    .filter(Boolean)
    .join(" · ");
}

function tooltip(active: Session | undefined, sessions: readonly Session[], relative: (uri: string) => string): string {
  const current = active?.plan?.items.find(({ status }) => status === "in_progress");
  const doing = current && active?.running ? current.activeForm || current.content : "";
  const { title = "", usage, retry } = active ?? {};
  const waits = sessions.flatMap((session) =>
    waitingTexts(session, relative).map((what) => `${sessionName(session)}: ${what}`),
  );
  const others = sessions
    .filter((session) => session !== active && session.running)
    .map((session) => t("{0} is running", sessionName(session)));
  const used = usage ? usageSummary(usage) : "";
  const spent = usage && used !== "" ? [t("This run: {0} tokens", used), contextUsage(usage)] : [];
  return [...waits, title, doing, retry?.error.message ?? "", pauseReason(active) ?? "", ...spent, ...others]
    .filter(Boolean)
    .join("\n");
}

function waitingTexts(session: Session, relative: (uri: string) => string): string[] {
  return [
    ...session.approvals.map((approval) => describeApproval(approval, relative).rowLabel),
    ...session.questions.map(({ question }) => lineText(question)),
    ...(needsDecision(session) ? [session.pause ? t("paused") : t("the plan is ready")] : []),
  ];
}
