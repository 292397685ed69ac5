// The order of the user's decisions across all sessions. The server undoes the last decision of one session; only the client knows
// the order between sessions. What an undo changes, and whether it is possible, the server decides. Pure.

import type { ReviewResult } from "../protocol";
import type { Edits } from "../protocolStates";

/** One decision of the user: the sessions in which it became a step of the undo history, in order. A session can occur more than once. */
export type DecisionSteps = string[];
export type Direction = "undo" | "redo";

export class DecisionHistory {
  private readonly stacks: Readonly<Record<Direction, DecisionSteps[]>> = { undo: [], redo: [] };

  /** Records steps of a decision in a session. */
  record(decision: DecisionSteps, sessionId: string, steps = 1): void {
    if (steps > 0 && !this.stacks.undo.includes(decision)) this.stacks.undo.push(decision);
    for (let step = 0; step < steps; step++) decision.push(sessionId);
  }

  /** Removes the last decision that can be undone or redone, at least in part. Returns its sessions in the order to process. */
  pop(direction: Direction, can: (sessionId: string) => boolean): DecisionSteps {
    const stack = this.stacks[direction];
    const last = stack.findLast((decision) => decision.some(can));
    if (last === undefined) return [];
    stack.splice(stack.indexOf(last), 1);
    const steps = last.filter(can);
    return direction === "undo" ? steps.reverse() : steps;
  }

  /** Adds back a processed decision: the steps in `done` can now be reversed, those in `left` could not be processed. */
  push(direction: Direction, done: DecisionSteps, left: DecisionSteps): void {
    const other = direction === "undo" ? "redo" : "undo";
    const inOrder = (steps: DecisionSteps): DecisionSteps => (direction === "undo" ? steps.toReversed() : [...steps]);
    if (done.length > 0) this.stacks[other].push(inOrder(done));
    if (left.length > 0) this.stacks[direction].push(inOrder(left));
  }
}

/** The number of steps that the server made of a decision. It accepts protected files in a separate step, after their confirmation. */
export function stepCount({ outcomes }: ReviewResult, before: Edits | undefined): number {
  const protectedUris = new Set(before?.files.filter((file) => file.protected).map(({ uri }) => uri));
  const kinds = outcomes.flatMap(({ uri, outcome }) => {
    if (outcome === "rejected") return ["reject"];
    return outcome === "applied" ? [protectedUris.has(uri) ? "accept protected" : "accept"] : [];
  });
  return new Set(kinds).size;
}
