// The nodes of the Plan view: what waits for the user, the steps, and their evidence. Pure.

import { t } from "@vscode/l10n";
import { callRow, commandRow, fileRow, runningRow, subagentRow } from "./evidenceRows";
import { goRow, inferredRow, inferredStepRow, otherRow, outsideRow, pauseRow, retryRow, waitRow } from "./planRows";
import type { ApproveParams, AskParams, CommandStarted } from "../../wire/protocol";
import type { Evidence, FileEdits, Outside, PlanItem } from "../../wire/protocolStates";
import { endingOf, type Session } from "../../state/session";
import { stepRow, type PlanRow } from "../../ui/stepRow";
import { errorActions } from "../../server/errorActions";
import { sessionName } from "../../ui/sessionTexts";
import { earlyEnd, isReadyToGo, isWorking, lastingFailure, otherWaiting, pauseReason } from "../../state/waiting";

/** A step of the plan. */
export interface StepNode {
  readonly kind: "item";
  readonly sessionId: string;
  readonly item: PlanItem;
  readonly row: PlanRow;
  /** Whether some of its changes are undecided. */
  readonly reviewable: boolean;
  /** The revision of the plan that is shown. */
  readonly revision: number;
  /** Its running commands. */
  readonly running: readonly CommandStarted[];
}

/** A file that a step changed, or that was changed outside of the plan (`item` is undefined). */
export interface FileNode {
  readonly kind: "file";
  readonly sessionId: string;
  readonly uri: string;
  readonly item: string | undefined;
  readonly row: PlanRow;
}

/** A command that has ended, identified by its tool call. */
export interface CommandNode {
  readonly kind: "command";
  readonly sessionId: string;
  readonly callId: string;
  readonly row: PlanRow;
}

/** A running command. A background command and a check have a handle, with which they can be stopped. */
export interface RunningNode {
  readonly kind: "running";
  readonly sessionId: string;
  readonly callId: string;
  readonly handle: string | null;
  readonly row: PlanRow;
}

/** A call of a tool server that has ended. */
interface CallNode {
  readonly kind: "call";
  readonly row: PlanRow;
}

/** A subagent, identified by the tool call that started it. */
export interface SubagentNode {
  readonly kind: "subagent";
  readonly sessionId: string;
  readonly callId: string;
  readonly title: string;
  readonly isWorking: boolean;
  readonly row: PlanRow;
}

/** Work that was done while no step was in progress. */
interface OutsideNode {
  readonly kind: "outside";
  readonly sessionId: string;
  readonly outside: Outside;
  readonly row: PlanRow;
}

/** What the agent did without a plan; `steps` is empty for one of these steps. */
interface InferredNode {
  readonly kind: "inferred";
  readonly row: PlanRow;
  readonly steps: readonly string[];
}

/**
 * A paused run (`pause`), a plan that waits for approval (`go`), a run that failed or ended too early (`retry`) or waits
 * to send its request again (`wait`), or another session that waits (`other`).
 */
export interface WaitingNode {
  readonly kind: "pause" | "go" | "retry" | "wait" | "other";
  readonly sessionId: string;
  readonly row: PlanRow;
}

export type PlanNode =
  | StepNode
  | FileNode
  | OutsideNode
  | CommandNode
  | RunningNode
  | CallNode
  | SubagentNode
  | InferredNode
  | WaitingNode
  | { readonly kind: "approval"; readonly approval: ApproveParams }
  | { readonly kind: "question"; readonly question: AskParams };

/** The id of a row, which stays the same when the tree is refreshed. */
export function nodeId(node: PlanNode): string {
  switch (node.kind) {
    case "approval":
      return `approval-${node.approval.toolCallId ?? node.approval.uri ?? node.approval.command ?? ""}`;
    case "question":
      return `question-${node.question.toolCallId}`;
    default:
      return node.row.id;
  }
}

/**
 * Returns the top rows of a session. `relative` converts a URI to a path for display; for `usesKey`, see `retryRow`.
 */
export function topNodes(session: Session, relative: (uri: string) => string, usesKey = true): PlanNode[] {
  const waiting = [
    ...nextNodes(session, usesKey),
    ...session.approvals.map((approval): PlanNode => ({ kind: "approval", approval })),
    ...session.questions.map((question): PlanNode => ({ kind: "question", question })),
  ];
  const { plan } = session;
  const ids = new Set(plan?.items.map(({ id }) => id));
  const otherCommands = session.commands.filter(({ itemId }) => itemId === null || !ids.has(itemId)).map(runningNode);
  if (!plan) return [...waiting, ...otherCommands];
  const files = session.edits?.files ?? [];
  const pending = new Set(files.flatMap(({ itemIds }) => itemIds));
  const outsideNodes = (id: Outside["id"]): PlanNode[] =>
    plan.outside
      .filter((outside) => outside.id === id)
      .map((outside) => ({ kind: "outside", sessionId: session.id, outside, row: outsideRow(outside) }));
  const activity = isWorking(session) ? "working" : session.running ? "waiting" : "idle";
  const steps = plan.items.map((item): PlanNode => ({
    kind: "item",
    sessionId: session.id,
    item,
    row: stepRow(item, activity, relative, session.edits, [
      ...new Set(files.flatMap((file) => laterChanges(session, file, item.id))),
    ]),
    reviewable: pending.has(item.id),
    revision: plan.revision,
    running: session.commands.filter(({ itemId }) => itemId === item.id),
  }));
  const { inferred } = plan;
  const inferredNodes: PlanNode[] =
    inferred.length > 0 ? [{ kind: "inferred", row: inferredRow(inferred), steps: inferred }] : [];
  const outside = [outsideNodes("before"), outsideNodes("unplanned")] as const;
  return [...waiting, ...otherCommands, ...outside[0], ...steps, ...inferredNodes, ...outside[1]];
}

/** Returns the rows of the other sessions that wait for the user. */
export function otherNodes(sessions: readonly Session[], shown: Session | undefined): PlanNode[] {
  return otherWaiting(sessions, shown).map((session) => ({
    kind: "other",
    sessionId: session.id,
    row: otherRow(session.id, sessionName(session)),
  }));
}

/**
 * Returns the row of what the user can do while the session does not run or waits to send its request again, if there is
 * one. A run that the user stopped has no row.
 */
function nextNodes(session: Session, usesKey: boolean): WaitingNode[] {
  const [sessionId, pause, end] = [session.id, pauseReason(session), earlyEnd(session)];
  const { plan } = session;
  const failure = lastingFailure(session);
  const [help] = errorActions(failure ?? null, usesKey);
  if (failure && help) return [{ kind: "wait", sessionId, row: waitRow(help, failure) }];
  if (pause !== undefined) return [{ kind: "pause", sessionId, row: pauseRow(pause) }];
  if (end && endingOf(end) !== "stopped") return [{ kind: "retry", sessionId, row: retryRow(end, usesKey) }];
  return plan && isReadyToGo(session) ? [{ kind: "go", sessionId, row: goRow(plan.total - plan.completed) }] : [];
}

/** Returns the rows below a row. */
export function childNodes(session: Session, node: PlanNode, relative: (uri: string) => string): PlanNode[] {
  if (node.kind === "inferred")
    return node.steps.map((text, index) => ({ kind: "inferred", row: inferredStepRow(text, index), steps: [] }));
  if (node.kind !== "item" && node.kind !== "outside") return [];
  const item = node.kind === "item" ? node.item.id : undefined;
  const { files, commands, calls, subagents } = evidenceOf(node);
  const fileNode = (uri: string): PlanNode => {
    const edits = session.edits?.files.find((file) => file.uri === uri || file.newUri === uri);
    const toReview = item !== undefined && (edits?.itemIds.includes(item) ?? false);
    const later = item !== undefined && edits ? laterChanges(session, edits, item) : [];
    return {
      kind: "file",
      sessionId: session.id,
      uri,
      item,
      row: fileRow(node.row.id, uri, relative(uri), toReview, later, edits?.problems ?? []),
    };
  };
  return [
    ...files.map(fileNode),
    ...commands.map((command, index): PlanNode => ({
      kind: "command",
      sessionId: session.id,
      callId: command.toolCallId,
      row: commandRow(node.row.id, command, index),
    })),
    ...calls.map((call, index): PlanNode => ({ kind: "call", row: callRow(node.row.id, call, index) })),
    ...subagents.map((work): PlanNode => ({
      kind: "subagent",
      sessionId: session.id,
      callId: work.toolCallId,
      title: work.title,
      isWorking: work.state === "running",
      row: subagentRow(node.row.id, work),
    })),
    ...(node.kind === "item" ? node.running.map(runningNode) : []),
  ];
}

/** Whether a node has rows below it. */
export function hasChildren(node: StepNode | OutsideNode): boolean {
  const { files, commands, calls, subagents } = evidenceOf(node);
  const ended = files.length + commands.length + calls.length + subagents.length;
  return ended > 0 || (node.kind === "item" && node.running.length > 0);
}

const runningNode = (command: CommandStarted): RunningNode => ({
  kind: "running",
  sessionId: command.sessionId,
  callId: command.toolCallId,
  handle: command.handle,
  row: runningRow(command),
});

const evidenceOf = (node: StepNode | OutsideNode): Evidence =>
  (node.kind === "item" ? node.item : node.outside).evidence;

/** Returns texts that say what later changed the step's part of a file. */
function laterChanges({ plan }: Session, file: FileEdits, item: string): string[] {
  return file.overtaken
    .filter(({ itemId }) => itemId === item)
    .map(({ byItemId }) => {
      const later = plan?.items.find(({ id }) => id === byItemId);
      return later ? t("changed again by “{0}”", later.content) : t("changed again outside of the plan");
    });
}
