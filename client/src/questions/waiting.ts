// What a session waits for: the user's answers, approval of its plan, or Continue after a pause. Pure.

import type { Session } from "../session";

/** The number of answers that a session waits for. */
export function openRequests(session: Session | undefined): number {
  return session ? session.approvals.length + session.questions.length : 0;
}

/** Whether the agent waits for an answer. It continues while a protected file waits for confirmation. */
export function isBlocked({ approvals, questions }: Session): boolean {
  return questions.length > 0 || approvals.some(({ toolCallId }) => toolCallId !== null);
}

/** Whether the agent is running and does not wait for the user. */
export function isWorking(session: Session | undefined): boolean {
  return session?.running === true && !isBlocked(session);
}

/** Why a session paused; undefined if it did not. */
export function pauseReason(session: Session | undefined): string | undefined {
  if (!session || session.running) return undefined;
  return session.pause?.reason ?? (session.row?.state === "paused" ? "The run stopped before its end." : undefined);
}

/** Whether there is a plan that the user can approve. */
export function isReadyToGo(session: Session | undefined): boolean {
  const { plan, planOnly, running } = session ?? {};
  return planOnly === true && !running && plan !== undefined && plan.total > plan.completed;
}
