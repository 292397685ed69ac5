// The user's changes to the plan: add, reword, drop, hold, mark and move steps and set their checks, even while the
// agent works.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { PlanNode, StepNode } from "./planNodes";
import { method, type PlanOp } from "../../wire/protocol";
import type { PlanItem } from "../../wire/protocolStates";
import { orShowWarning } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import type { Store } from "../../state/store";
import { setContextKey } from "../../ui/contextKeys";
import { askForText, showBriefly } from "../../ui/show";

const UNDO_KEY = process.platform === "darwin" ? "Cmd+Z" : "Ctrl+Z";
/** The MIME type that VS Code expects for rows that are dragged within the Plan view. */
const MIME = "application/vnd.code.tree.fairlead.plan";

export class PlanEdits implements vscode.TreeDragAndDropController<PlanNode> {
  readonly dragMimeTypes = [MIME];
  readonly dropMimeTypes = [MIME];

  /** The steps that the user dropped in this window and did not bring back, with the step that each followed. */
  private readonly dropped: { sessionId: string; id: string; after: string | null }[] = [];

  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
  ) {}

  /** Asks for a new step, and adds it after the given one, or at the end if none is given or it no longer exists. */
  async add(given?: Partial<PlanNode>): Promise<void> {
    // for a button in the view's title, VS Code passes the selected row or something that is not a row
    const previous = given?.kind === "item" ? (given as StepNode) : undefined;
    const sessionId = previous?.sessionId ?? this.store.active?.id;
    if (sessionId === undefined) return;
    const content = await askForWords(t("Agent: Add Step"), t("Describe the new step."), "");
    if (content === undefined) return;
    const plan = this.store.get(sessionId)?.plan;
    const stillExists = plan?.items.some(({ id }) => id === previous?.item.id);
    const after = previous && stillExists ? { after: previous.item.id } : {};
    await this.send(sessionId, plan?.revision ?? 0, { op: "add", content, ...after });
  }

  async reword(step: StepNode): Promise<void> {
    const content = await askForWords(
      t("Agent: Reword Step"),
      t("The agent will keep your wording."),
      step.item.content,
    );
    if (content !== undefined && content !== step.item.content)
      await this.editStep(step, { op: "update", id: step.item.id, content });
  }

  async drop(step: StepNode): Promise<void> {
    const { item, sessionId } = step;
    const items = this.store.get(sessionId)?.plan?.items ?? [];
    const after = items[items.findIndex(({ id }) => id === item.id) - 1]?.id ?? null;
    if (!(await this.editStep(step, { op: "remove", id: item.id }))) return;
    this.dropped.push({ sessionId, id: item.id, after });
    setContextKey("stepDropped", true);
    showBriefly(t("Dropped “{0}”. {1} in the Plan brings it back.", item.content, UNDO_KEY));
  }

  /** Brings back the step that the user dropped last. */
  async restore(): Promise<void> {
    const last = this.dropped.pop();
    setContextKey("stepDropped", this.dropped.length > 0);
    const plan = last && this.store.get(last.sessionId)?.plan;
    if (!plan) {
      showBriefly(t("No step was dropped."));
      return;
    }
    const { sessionId, id, after } = last;
    const isThere = after === null || plan.items.some((item) => item.id === after);
    await this.send(sessionId, plan.revision, { op: "restore", id, ...(isThere && { after }) });
  }

  /** Sets the command that must pass before the step is completed; empty: none. */
  async setCheck(step: StepNode, check: string): Promise<void> {
    if (check !== step.item.check) await this.editStep(step, { op: "update", id: step.item.id, check });
  }

  async setHeld(step: StepNode, held: boolean): Promise<void> {
    await this.editStep(step, { op: "update", id: step.item.id, held });
  }

  async markDone(step: StepNode): Promise<void> {
    await this.editStep(step, { op: "update", id: step.item.id, status: "completed" });
  }

  handleDrag(nodes: readonly PlanNode[], data: vscode.DataTransfer): void {
    const [node] = nodes;
    if (node?.kind === "item") data.set(MIME, new vscode.DataTransferItem(node));
  }

  /**
   * Moves a step to the position of the step that it is dropped on, or to the end if it is dropped below the rows. Does
   * nothing on a row that is not a step of the same plan: the view may have changed to another session meanwhile.
   */
  async handleDrop(target: PlanNode | undefined, data: vscode.DataTransfer): Promise<void> {
    const step = data.get(MIME)?.value as StepNode | undefined;
    const items = step && this.store.get(step.sessionId)?.plan?.items;
    if (!items || (target && (target.kind !== "item" || target.sessionId !== step.sessionId))) return;
    const after = predecessor(items, step.item.id, target?.item.id);
    if (after !== undefined) await this.editStep(step, { op: "move", id: step.item.id, after });
  }

  /** Returns the current item of a step if its text, status, hold and check are as in `item`; else undefined. */
  private unchangedItem({ sessionId, item }: StepNode): PlanItem | undefined {
    const now = this.store.get(sessionId)?.plan?.items.find(({ id }) => id === item.id);
    return now?.content === item.content &&
      now.status === item.status &&
      now.held === item.held &&
      now.check === item.check
      ? now
      : undefined;
  }

  /**
   * Sends a change of a step. If this step has changed since the user saw it, the server refuses, and the reason is
   * shown. Changes of other steps do not matter. Returns whether it was done.
   */
  private async editStep(step: StepNode, op: PlanOp): Promise<boolean> {
    const now = this.store.get(step.sessionId)?.plan?.revision;
    return this.send(step.sessionId, this.unchangedItem(step) && now !== undefined ? now : step.revision, op);
  }

  private async send(sessionId: string, revision: number, op: PlanOp): Promise<boolean> {
    const params = { sessionId, revision, ops: [op] };
    return (await orShowWarning(() => this.server.request(method.planEdit, params))) !== undefined;
  }
}

/**
 * Returns the id of the step after which `moved` belongs if it is dropped on `target` (undefined: at the end). Null for
 * the first position; undefined if it does not move.
 */
function predecessor(items: readonly PlanItem[], moved: string, target: string | undefined): string | null | undefined {
  const ids = items.map(({ id }) => id);
  const from = ids.indexOf(moved);
  const to = target === undefined ? ids.length - 1 : ids.indexOf(target);
  if (from < 0 || to < 0 || from === to) return undefined;
  // when a step moves down, the target moves up and precedes it
  return to > from ? ids[to] : (ids[to - 1] ?? null);
}

/** Returns undefined if the user closes the box or leaves it empty. */
async function askForWords(title: string, prompt: string, value: string): Promise<string | undefined> {
  const given = await askForText({ title, prompt }, { value, ignoreFocusOut: true });
  const content = given?.trim() ?? "";
  return content === "" ? undefined : content;
}
