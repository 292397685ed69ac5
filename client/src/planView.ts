// The Plan view: the active session's items, above them what waits for the person.

import * as vscode from "vscode";
import type { ApproveParams } from "./protocol";
import { planCount, planRows, type PlanRow } from "./planRows";
import type { Store } from "./state";
import { visible } from "./text";
import { DrawnTree } from "./tree";

/** A step of the plan. */
export interface StepNode {
  readonly kind: "item";
  readonly sessionId: string;
  readonly row: PlanRow;
  /** Whether something of it is left to review. */
  readonly reviewable: boolean;
}

type Node = StepNode | { kind: "approval"; approval: ApproveParams };

export class PlanView extends DrawnTree<Node> {
  constructor(private readonly store: Store) {
    super("fairlead.plan", store, (change) => change !== "conversation");
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return node.kind === "item" ? itemOf(node) : approvalItem(node.approval);
  }

  protected rows(node: Node | undefined): Node[] {
    const session = this.store.active;
    if (node || !session) return [];
    const approvals = session.approvals.map((approval): Node => ({ kind: "approval", approval }));
    const pending = new Set(session.edits?.files.flatMap(({ itemIds }) => itemIds));
    const steps = planRows(session.plan, session.running).map(
      (row): Node => ({ kind: "item", sessionId: session.id, row, reviewable: pending.has(row.id) }),
    );
    return [...approvals, ...steps];
  }

  protected decorate(): void {
    const session = this.store.active;
    const plan = session?.plan;
    this.view.description = planCount(plan);
    const open = plan ? plan.total - plan.completed : 0;
    const waiting = session?.approvals.length ?? 0;
    const badge = waiting > 0 ? { value: waiting, tooltip: "The agent waits for you" } : undefined;
    this.view.badge = badge ?? (session?.running && open > 0 ? { value: open, tooltip: `${open} steps to do` } : undefined);
    this.view.message = message(session) ?? "";
  }
}

function message(session: Store["active"]): string | undefined {
  if (!session) return undefined;
  const replay = session.model.startsWith("replay") ? "Replay: a recorded conversation plays the model." : "";
  const idle = session.plan && session.plan.total > 0 ? "" : session.running ? "Working. No plan yet." : "No plan was made.";
  return [replay, idle].filter(Boolean).join(" ") || undefined;
}

function itemOf({ row, reviewable }: StepNode): vscode.TreeItem {
  const item = new vscode.TreeItem(row.label);
  item.id = `item-${row.id}`;
  item.description = row.description;
  item.tooltip = row.tooltip;
  item.iconPath = new vscode.ThemeIcon(row.icon, row.color === undefined ? undefined : new vscode.ThemeColor(row.color));
  item.accessibilityInformation = { label: row.spoken };
  item.contextValue = reviewable ? "item reviewable" : "item";
  return item;
}

function approvalItem(approval: ApproveParams): vscode.TreeItem {
  const command = visible(approval.command ?? approval.uri ?? "");
  const item = new vscode.TreeItem(`Allow: ${command.replace(/\s+/g, " ")}`);
  item.id = `approval-${approval.toolCallId ?? command}`;
  item.description = "waits for you";
  item.tooltip = [command, ...approval.reasons].join("\n");
  item.iconPath = new vscode.ThemeIcon("question", new vscode.ThemeColor("charts.yellow"));
  item.contextValue = "approval";
  item.command = { command: "fairlead.showApproval", title: "Show the whole command", arguments: [{ approval }] };
  item.accessibilityInformation = { label: `The agent asks to run: ${command}` };
  return item;
}
