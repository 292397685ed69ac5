// The order of the user's decisions across all sessions. The server undoes the last decision of one session; only the
// client knows the order between sessions. The server decides what an undo changes, and whether it is possible.

import type { ReviewResult } from "../wire/protocol";
import type { Edits } from "../wire/protocolStates";

/**
 * One decision of the user: the steps that it added to the sessions' undo histories, in order. Each step is
 * represented by the id of its session.
 */
export type DecisionSteps = string[];
export type Direction = "undo" | "redo";

export class DecisionHistory {
  private readonly stacks: Readonly<Record<Direction, DecisionSteps[]>> = { undo: [], redo: [] };

  /**
   * Adds `steps` steps in a session to a decision. If a decision is about several sessions, pass the same array each
   * time; this method appends to it.
   */
  record(decision: DecisionSteps, sessionId: string, steps = 1): void {
    if (steps > 0 && !this.stacks.undo.includes(decision)) this.stacks.undo.push(decision);
    for (let step = 0; step < steps; step++) decision.push(sessionId);
  }

  /**
   * Removes the last decision that has a step for which `can` returns true. Returns only the steps for which `can`
   * returns true, in the order in which to undo or redo them; empty if there is no such decision.
   */
  pop(direction: Direction, can: (sessionId: string) => boolean): DecisionSteps {
    const stack = this.stacks[direction];
    const last = stack.findLast((decision) => decision.some(can));
    if (last === undefined) return [];
    stack.splice(stack.indexOf(last), 1);
    const steps = last.filter(can);
    return direction === "undo" ? steps.reverse() : steps;
  }

  /**
   * Records the result of an undo or redo: `done` can now be reversed, and `left`, which failed at least in part, can
   * be tried again. A step in which only some files failed is in both.
   */
  push(direction: Direction, done: DecisionSteps, left: DecisionSteps): void {
    const other = direction === "undo" ? "redo" : "undo";
    // an undo processes the steps in reverse
    const inOrder = (steps: DecisionSteps): DecisionSteps => (direction === "undo" ? steps.toReversed() : [...steps]);
    if (done.length > 0) this.stacks[other].push(inOrder(done));
    if (left.length > 0) this.stacks[direction].push(inOrder(left));
  }
}

/**
 * Returns the number of steps that a decision added to the server's undo history: accepted protected files are a
 * separate step. `before`: the edits that the user decided on.
 */
export function stepCount({ outcomes }: ReviewResult, before: Edits | undefined): number {
  const protectedUris = new Set(before?.files.filter((file) => file.protected).map(({ uri }) => uri));
  const kinds = outcomes.flatMap(({ uri, outcome }) => {
    if (outcome === "rejected") return ["reject"];
    return outcome === "applied" ? [protectedUris.has(uri) ? "accept protected" : "accept"] : [];
  });
  return new Set(kinds).size;
}
