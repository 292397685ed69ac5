// The Plan view: the active session's steps with their evidence, and above them whatever waits for the user.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { describeApproval } from "../../ui/approvalTexts";
import { relative } from "../../ui/folders";
import { duration, oneOrMany } from "../../ui/format";
import {
  hasChildren,
  childNodes,
  nodeId,
  otherNodes,
  topNodes,
  type PlanNode,
  type StepNode,
  type WaitingNode,
} from "./planNodes";
import type { PlanRow } from "../../ui/stepRow";
import { takesKey } from "../../server/settings";
import type { Session } from "../../state/session";
import type { Store } from "../../state/store";
import { isBlocked, isWorking, openRequests, secondsToRetry } from "../../state/waiting";
import { lapsedText } from "./lapsed";
import { StepClock } from "./stepClock";
import { showHeader, showViewProgress, type TreeItem } from "../../ui/show";
import { plainLine } from "../../ui/text";
import { planCount } from "../../ui/stepRow";
import { progressText } from "../../ui/sessionTexts";
import { rowItem, rowUri, StoreTree } from "../../ui/tree";

const { None, Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
const VIEW = "fairlead.plan";
const SECOND = 1000;

/** The commands that run when the user clicks a row about something that waits for the user. */
const WAITING_COMMANDS: Record<WaitingNode["kind"], { readonly command: string; readonly title: string }> = {
  pause: { command: "fairlead.continueRun", title: t("Continue") },
  go: { command: "fairlead.go", title: t("Go") },
  retry: { command: "fairlead.retryRun", title: t("Retry") },
  wait: { command: "fairlead.retryRun", title: t("Retry") },
  other: { command: "fairlead.showSession", title: t("Show Session") },
};

export class PlanView extends StoreTree<PlanNode> {
  private readonly clock = new StepClock(() => performance.now());
  /**
   * The row of the step on which the agent works, which shows the elapsed time. Undefined if the agent does not work,
   * or works on no step.
   */
  private current: StepNode | undefined;
  private tick: NodeJS.Timeout | undefined;
  private endProgress: (() => void) | undefined;

  constructor(
    private readonly store: Store,
    dragAndDrop: vscode.TreeDragAndDropController<PlanNode>,
    /** Called when the user opens the view and may soon run a task. */
    private readonly onOpen: () => void,
  ) {
    super(VIEW, store, (change) => change !== "conversation", dragAndDrop);
  }

  getTreeItem(node: PlanNode): TreeItem {
    switch (node.kind) {
      case "approval":
        return approvalItem(node);
      case "question":
        return questionItem(node);
      case "pause":
      case "go":
      case "retry":
      case "wait":
      case "other": {
        const item = planItem(node.row);
        item.contextValue = node.kind;
        item.command = { ...WAITING_COMMANDS[node.kind], arguments: [node] };
        return item;
      }
      case "item":
        return this.stepItem(node);
      case "outside":
        return planItem(node.row, hasChildren(node) ? Collapsed : None);
      case "file": {
        const item = planItem(node.row);
        item.resourceUri = rowUri(node.sessionId, node.uri);
        item.iconPath = vscode.ThemeIcon.File;
        item.command = { command: "fairlead.openStepFile", title: t("Open"), arguments: [node] };
        return item;
      }
      case "command":
      case "running": {
        const item = planItem(node.row);
        item.contextValue = node.kind === "running" && node.handle !== null ? "background" : "command";
        item.command = { command: "fairlead.showCommand", title: t("Open Output"), arguments: [node] };
        return item;
      }
      case "call":
        return planItem(node.row);
      case "subagent": {
        const item = planItem(node.row);
        item.contextValue = node.isWorking ? "workingSubagent" : "subagent";
        item.command = { command: "fairlead.showSubagent", title: t("Show What It Did"), arguments: [node] };
        return item;
      }
      case "inferred":
        return planItem(node.row, node.steps.length > 0 ? Collapsed : None);
    }
  }

  override dispose(): void {
    clearTimeout(this.tick);
    this.showProgressBar(false);
    super.dispose();
  }

  /** Calls `change` with the focused row, if it is a step. */
  async withFocused(change: (step: StepNode) => Promise<void>): Promise<void> {
    const row = await this.focusedRow();
    if (row?.kind === "item") await change(row);
  }

  protected keyOf(node: PlanNode): string {
    return nodeId(node);
  }

  protected rows(node: PlanNode | undefined): PlanNode[] {
    const session = this.store.active;
    if (node) return session ? childNodes(session, node, relative) : [];
    const others = otherNodes(this.store.sessions, session);
    return session ? [...others, ...topNodes(session, relative, takesKey(session.row?.model.endpoint))] : others;
  }

  protected override onShown(): void {
    this.onOpen();
  }

  protected override onRowsRequested(nodes: readonly PlanNode[], below: PlanNode | undefined): void {
    if (below) return;
    const steps = nodes.filter((other) => other.kind === "item");
    this.current = isWorking(this.store.active) ? steps.find(({ item }) => item.status === "in_progress") : undefined;
    if (!this.current) this.clock.reset();
    this.scheduleTick();
  }

  protected updateHeader(): void {
    const session = this.store.active;
    const plan = session?.plan;
    const open = plan ? plan.total - plan.completed : 0;
    const waits = openRequests(session);
    const badge = waits > 0 ? { value: waits, tooltip: t("The agent is waiting for you") } : undefined;
    const toDo =
      session?.running && open > 0
        ? { value: open, tooltip: oneOrMany(open, t("1 step to do"), t("{0} steps to do", open)) }
        : undefined;
    showHeader(this.view, { description: planCount(plan), message: message(session), badge: badge ?? toDo });
    this.showProgressBar(isWorking(session));
    this.scheduleTick();
  }

  /** Shows or hides the progress bar above the rows. */
  private showProgressBar(running: boolean): void {
    if (running && !this.endProgress) {
      const ended = new Promise<void>((resolve) => {
        this.endProgress = resolve;
      });
      showViewProgress(VIEW, ended);
    } else if (!running) {
      this.endProgress?.();
      this.endProgress = undefined;
    }
  }

  /** Updates the times and the progress each second while there is a `current` row, or the agent waits to ask the model again. */
  private scheduleTick(): void {
    clearTimeout(this.tick);
    const isCounting = (): boolean => secondsToRetry(this.store.active) > 0;
    if (!this.current && !isCounting()) return;
    this.tick = setTimeout(() => {
      if (this.current && this.view.visible) this.redrawRow(this.current);
      this.updateHeader();
    }, SECOND);
  }

  private stepItem(node: StepNode): TreeItem {
    const isInProgress = node.item.status === "in_progress";
    const isParent = hasChildren(node);
    const isCurrent = node === this.current;
    const elapsed = isCurrent ? Math.floor(this.clock.elapsed(node.sessionId, node.item)) : 0;
    const progress = isCurrent && this.store.active ? progressText(this.store.active) : "";
    const description = [node.row.description, progress, elapsed > 0 ? duration(elapsed) : ""];
    const row = { ...node.row, description: description.filter(Boolean).join(" · ") };
    const item = planItem(row, isParent ? (isInProgress ? Expanded : Collapsed) : None);
    // VS Code keeps the expansion state of a row that it knows, so a step that starts or gets its first child needs
    // another id
    if (isInProgress) item.id = `${node.row.id} now${isParent ? "" : " bare"}`;
    item.contextValue = contextValue(node);
    if (node.item.newErrors > 0)
      item.command = { command: "fairlead.showProblem", title: t("Show First Error"), arguments: [node] };
    return item;
  }
}

/** Returns the words by which the menus in package.json choose the commands of a step. */
function contextValue({ item, reviewable }: StepNode): string {
  const words = [
    "item",
    item.status === "completed" ? "done" : item.held ? "held" : "open",
    item.evidence.files.length > 0 ? "changed" : "",
    reviewable ? "reviewable" : "",
    item.check ? "checked" : "",
  ];
  return words.filter(Boolean).join(" ");
}

/** Returns the text above the rows; empty if there is nothing to say. */
function message(session: Store["active"]): string {
  if (!session) return "";
  const replay = session.recording !== "" ? t("Replay: a recorded conversation replaces the model.") : "";
  const status =
    session.plan && session.plan.total > 0
      ? ""
      : session.isStarting
        ? t("Starting the agent for “{0}”.", session.title)
        : session.running
          ? isBlocked(session)
            ? t("Waiting for you.")
            : t("Working. No plan yet.")
          : session.plan && session.plan.inferred.length > 0
            ? t("The agent wrote no plan. These steps are inferred from its tool calls.")
            : t("This session has no plan.");
  return [replay, retryText(session) || status || lapsedText(session.plan, relative)].filter(Boolean).join(" ");
}

/** Why the agent waits before it asks the model again, and for how long. */
function retryText(session: Session): string {
  const seconds = secondsToRetry(session);
  return seconds > 0 ? t("{0} Trying again in {1} s.", session.retry?.error.message ?? "", seconds) : "";
}

function planItem(row: PlanRow, collapsible = None): TreeItem {
  const item = rowItem(row, collapsible);
  item.id = row.id;
  return item;
}

function approvalItem(node: Extract<PlanNode, { kind: "approval" }>): TreeItem {
  const { approval } = node;
  const { rowLabel: label, details, screenReaderLabel, isBrief } = describeApproval(approval, relative);
  const item = waitingItem(label, details, "question", screenReaderLabel);
  item.id = nodeId(node);
  item.contextValue = isBrief ? "approval" : "longApproval";
  item.command = { command: "fairlead.showApproval", title: t("Show Full Question"), arguments: [node] };
  return item;
}

function questionItem(node: Extract<PlanNode, { kind: "question" }>): TreeItem {
  const { question } = node;
  const text = plainLine(question.question);
  const tooltip = [question.question, ...question.options.map((option) => `• ${option}`)].join("\n");
  const item = waitingItem(t("Answer: {0}", text), tooltip, "comment-unresolved", t("The agent asks: {0}", text));
  item.id = nodeId(node);
  item.contextValue = "question";
  item.command = { command: "fairlead.answerQuestion", title: t("Answer"), arguments: [node] };
  return item;
}

function waitingItem(label: string, tooltip: string, icon: string, screenReaderLabel: string): TreeItem {
  const description = t("waiting for you");
  return rowItem({ label, description, tooltip, icon, color: "charts.yellow", screenReaderLabel });
}
