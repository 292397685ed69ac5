// The rows of the Plan view with what belongs to each: what waits for the person, the steps, and what stands behind them.
// Pure.

import { commandRow, fileRow } from "./evidenceRows";
import { inferredRow, outsideRow, stepRow, type PlanRow } from "./planRows";
import type { ApproveParams, AskParams, Evidence, Outside, PlanItem } from "./protocol";
import type { Session } from "./state";

/** A step of the plan. */
export interface StepNode {
  readonly kind: "item";
  readonly sessionId: string;
  readonly item: PlanItem;
  readonly row: PlanRow;
  /** Whether something of it is left to review. */
  readonly reviewable: boolean;
  /** The plan's that is shown. */
  readonly revision: number;
}

/** A file that a step changed; without a step, one that was changed beside the plan. */
export interface FileNode {
  readonly kind: "file";
  readonly sessionId: string;
  readonly uri: string;
  readonly item: string | undefined;
  readonly row: PlanRow;
}

/** What happened while no step was in progress. */
interface OutsideNode {
  readonly kind: "outside";
  readonly sessionId: string;
  readonly outside: Outside;
  readonly row: PlanRow;
}

export type PlanNode =
  | StepNode
  | FileNode
  | OutsideNode
  | { readonly kind: "command" | "inferred"; readonly row: PlanRow }
  | { readonly kind: "approval"; readonly approval: ApproveParams }
  | { readonly kind: "question"; readonly question: AskParams };

/** The top rows. */
export function planNodes(session: Session): PlanNode[] {
  const waiting = [
    ...session.approvals.map((approval): PlanNode => ({ kind: "approval", approval })),
    ...session.questions.map((question): PlanNode => ({ kind: "question", question })),
  ];
  const { plan } = session;
  if (!plan) return waiting;
  const pending = new Set(session.edits?.files.flatMap(({ itemIds }) => itemIds));
  const beside = (id: Outside["id"]): PlanNode[] =>
    plan.outside.filter((outside) => outside.id === id).map((outside) => ({ kind: "outside", sessionId: session.id, outside, row: outsideRow(outside) }));
  const steps = plan.items.map(
    (item): PlanNode => ({
      kind: "item",
      sessionId: session.id,
      item,
      row: stepRow(item, session.running),
      reviewable: pending.has(item.id),
      revision: plan.revision,
    }),
  );
  const inferred = plan.inferred.map((text, index): PlanNode => ({ kind: "inferred", row: inferredRow(text, index) }));
  return [...waiting, ...beside("before"), ...steps, ...inferred, ...beside("unplanned")];
}

/** The rows below one. */
export function nodesBelow(session: Session, node: PlanNode, relative: (uri: string) => string): PlanNode[] {
  if (node.kind !== "item" && node.kind !== "outside") return [];
  const item = node.kind === "item" ? node.item.id : undefined;
  const { files, commands } = evidenceOf(node);
  const toReview = (uri: string): boolean => item !== undefined && changedBy(session, uri, item);
  return [
    ...files.map((uri): PlanNode => ({ kind: "file", sessionId: session.id, uri, item, row: fileRow(node.row.id, uri, relative(uri), toReview(uri)) })),
    ...commands.map((command, index): PlanNode => ({ kind: "command", row: commandRow(node.row.id, command, index) })),
  ];
}

/** Whether rows stand below. */
export function hasBelow(node: StepNode | OutsideNode): boolean {
  const { files, commands } = evidenceOf(node);
  return files.length > 0 || commands.length > 0;
}

const evidenceOf = (node: StepNode | OutsideNode): Evidence => (node.kind === "item" ? node.item : node.outside).evidence;

function changedBy(session: Session, uri: string, item: string): boolean {
  return session.edits?.files.some((file) => file.uri === uri && file.itemIds.includes(item)) ?? false;
}
