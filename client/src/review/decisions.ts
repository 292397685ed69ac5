// The order in which the person decided, through all sessions: the server takes back the last step of one session and knows no
// order between two. What a step changes, and whether it can be taken back, is the server's matter. Pure.

import type { Edits, ReviewResult } from "../protocol";

/** One decision: the sessions in which it took a step, the first first; one in which it took two stands there twice. */
export type DecisionSteps = string[];
export type Direction = "undo" | "redo";

export class DecisionHistory {
  private readonly stacks: Readonly<Record<Direction, DecisionSteps[]>> = { undo: [], redo: [] };

  /** A decision took steps in a session. */
  record(decision: DecisionSteps, sessionId: string, steps = 1): void {
    if (steps > 0 && !this.stacks.undo.includes(decision)) this.stacks.undo.push(decision);
    for (let step = 0; step < steps; step++) decision.push(sessionId);
  }

  /** Takes the last decision of which something can go this way, and tells its sessions in the order to go through. */
  pop(way: Direction, can: (sessionId: string) => boolean): DecisionSteps {
    const stack = this.stacks[way];
    const last = stack.findLast((decision) => decision.some(can));
    if (last === undefined) return [];
    stack.splice(stack.indexOf(last), 1);
    const steps = last.filter(can);
    return way === "undo" ? steps.reverse() : steps;
  }

  /** What was gone through, in that order: `done` can go the other way now, and `left` still this one. */
  push(way: Direction, done: DecisionSteps, left: DecisionSteps): void {
    const other = way === "undo" ? "redo" : "undo";
    for (const [onto, steps] of [
      [other, done],
      [way, left],
    ] as const) {
      if (steps.length > 0) this.stacks[onto].push(way === "undo" ? steps.toReversed() : [...steps]);
    }
  }
}

/** How many steps a decision was for the server: protected files are asked for behind the others, and accepted in one of their own. */
export function stepCount({ outcomes }: ReviewResult, before: Edits | undefined): number {
  const guarded = new Set(before?.files.filter((file) => file.protected).map(({ uri }) => uri));
  const kinds = outcomes.flatMap(({ uri, outcome }) => {
    if (outcome === "rejected") return ["reject"];
    return outcome === "applied" ? [guarded.has(uri) ? "guarded" : "accept"] : [];
  });
  return new Set(kinds).size;
}
