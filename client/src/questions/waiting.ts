// What a session waits for: answers of the user, a Go for its plan, a Go On after a pause. Pure.

import type { Session } from "../session";

/** How many answers of the user a session waits for. */
export function openRequests(session: Session | undefined): number {
  return session ? session.approvals.length + session.questions.length : 0;
}

/** Whether the agent itself waits for an answer; a protected file waits for its accept while the agent works. */
export function isBlocked({ approvals, questions }: Session): boolean {
  return questions.length > 0 || approvals.some(({ toolCallId }) => toolCallId !== null);
}

/** Whether the agent works on a session now, and does not wait for the user. */
export function isWorking(session: Session | undefined): boolean {
  return session?.running === true && !isBlocked(session);
}

/** Why a session that can go on has stopped; undefined where it has not. */
export function pauseReason(session: Session | undefined): string | undefined {
  if (!session || session.running) return undefined;
  return session.pause?.reason ?? (session.row?.state === "paused" ? "The run stopped before its end." : undefined);
}

/** Whether a plan is there that the agent may be told to do. */
export function isReadyToGo(session: Session | undefined): boolean {
  const { plan, planOnly, running } = session ?? {};
  return planOnly === true && !running && plan !== undefined && plan.total > plan.completed;
}
