// Accepting, rejecting, and taking that back: what the person decided goes to the server, and what came of it to the person.

import * as vscode from "vscode";
import type { EditRow } from "./editRows";
import { relative } from "./editsView";
import { method, type DecideParams, type FileEdits, type Hunk, type ReviewResult, type Target } from "./protocol";
import { NotStarted, type AgentServer } from "./server";
import { amendedDocuments, fileOf } from "./sides";
import type { Store } from "./state";

export type Decision = "accept" | "reject";
type How = Pick<DecideParams, "version" | "resolution" | "reason">;

const MOMENT = 5000;

export class Review {
  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
  ) {}

  /** Decides on a row of the tree: a session, a file or a hunk. */
  async decideRow(decision: Decision, row: EditRow | undefined, how: How = {}): Promise<void> {
    if (row === undefined) {
      // VS Code lost the row while the tree was drawn anew
      vscode.window.setStatusBarMessage("The list had just changed; nothing was done. Try again.", MOMENT);
      return;
    }
    await this.decide(decision, { sessionId: row.sessionId, target: targetOf(row), ...how });
  }

  /** Decides on everything there is. */
  async decideAll(decision: Decision): Promise<void> {
    const sessions = this.store.reviewable;
    if (sessions.length === 0) void vscode.window.showInformationMessage("There is nothing to review.");
    if (decision === "reject" && sessions.length > 0) {
      const sure = await vscode.window.showWarningMessage(
        "Reject all proposed changes?",
        { modal: true, detail: "Your files stay as they are. “Agent: Undo Review” brings the proposals back." },
        "Reject All",
      );
      if (sure === undefined) return;
    }
    for (const session of sessions) await this.decide(decision, { sessionId: session.id, target: { all: true } });
  }

  /** Rejects and says why; closing the box rejects nothing. */
  async rejectWithReason(sessionId: string, target: Target): Promise<void> {
    const reason = await vscode.window.showInputBox({
      title: "Agent: Reject with Reason",
      prompt: "The agent reads it before it goes on, or with your next follow-up. It may be left empty.",
      placeHolder: "Why not like this?",
    });
    if (reason === undefined) return;
    const given = reason.trim();
    await this.decide("reject", { sessionId, target, ...(given === "" ? {} : { reason: given }) });
  }

  /** Tells the server the decision, and the person what came of it. */
  async decide(decision: Decision, params: DecideParams): Promise<ReviewResult | undefined> {
    const { sessionId, target } = params;
    const amended = decision === "accept" ? await this.saveAmended(sessionId, target) : "clean";
    if (amended === "stop") return undefined;
    // what the person saw: if the target changed since, the server refuses and nothing happens
    const current = this.store.get(sessionId)?.edits?.version;
    const seen = amended === "saved" || this.isAsSeen(params) ? current : (params.version ?? current);
    this.store.decided(sessionId);
    return this.ask(decision === "accept" ? method.accept : method.reject, {
      ...params,
      ...(seen === undefined ? {} : { version: seen }),
    });
  }

  /** Takes back the last decision, or makes it again. */
  async undo(): Promise<void> {
    await this.revise("undoLabel", method.undo, "undo", "Undone");
  }

  async redo(): Promise<void> {
    await this.revise("redoLabel", method.redo, "redo", "Done again");
  }

  /** Takes back what was accepted of a plan step, whatever was decided since. */
  async undoStep(sessionId: string, item: string, content: string): Promise<void> {
    this.store.decided(sessionId);
    const result = await this.ask(method.undo, { sessionId, item });
    if (result?.outcomes.some(({ outcome }) => outcome === "applied")) vscode.window.setStatusBarMessage(`Undone: ${content}`, MOMENT);
  }

  private async revise(label: "undoLabel" | "redoLabel", name: string, verb: string, done: string): Promise<void> {
    const session = this.store.revisable(label);
    const what = session?.edits?.[label];
    if (!session || !what) {
      void vscode.window.showInformationMessage(`There is nothing to ${verb} in the review.`);
      return;
    }
    this.store.decided(session.id);
    if (await this.ask(name, { sessionId: session.id })) vscode.window.setStatusBarMessage(`${done}: ${what}`, MOMENT);
  }

  private async ask(name: string, params: object): Promise<ReviewResult | undefined> {
    try {
      const result = await this.server.request<ReviewResult>(name, params);
      report(result);
      return result;
    } catch (error) {
      if (!(error instanceof NotStarted)) void vscode.window.showWarningMessage(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  /**
   * A hunk's id says what it changes: one that is still there is the one that was seen, whatever else was decided since. A
   * CodeLens is drawn anew only half a second after a decision, and the next one may be pressed before that.
   */
  private isAsSeen({ sessionId, target, resolution }: DecideParams): boolean {
    if (!("hunk" in target) || resolution !== undefined) return false;
    return hunkOf(this.store, sessionId, target)?.state === "pending";
  }

  /** What the person changed in a diff and did not save yet is part of what they accept. */
  private async saveAmended(sessionId: string, target: Target): Promise<"clean" | "saved" | "stop"> {
    const session = this.store.get(sessionId);
    const documents = amendedDocuments(sessionId).filter(({ uri }) => {
      const file = fileOf(session, uri.path);
      return file && concerns(target, file);
    });
    for (const document of documents) {
      // where it cannot be saved VS Code says why
      if (!(await document.save())) return "stop";
    }
    if (documents.length === 0) return "clean";
    if ("hunk" in target && !hunkOf(this.store, sessionId, target)) {
      void vscode.window.showInformationMessage("What you changed is saved and part of the proposal now. Look at it, then accept it.");
      return "stop";
    }
    return "saved";
  }
}

export function targetOf(row: EditRow): Target {
  switch (row.kind) {
    case "session":
      return { all: true };
    case "file":
      return { uri: row.file.uri };
    case "hunk":
      return { uri: row.file.uri, hunk: row.hunk.id };
  }
}

function concerns(target: Target, file: FileEdits): boolean {
  if ("uri" in target) return vscode.Uri.parse(target.uri).path === vscode.Uri.parse(file.uri).path;
  return "all" in target || file.itemIds.includes(target.item);
}

function hunkOf(store: Store, sessionId: string, { uri, hunk }: { uri: string; hunk: string }): Hunk | undefined {
  return fileOf(store.get(sessionId), vscode.Uri.parse(uri).path)?.hunks.find(({ id }) => id === hunk);
}

function report(result: ReviewResult): void {
  const bad = result.outcomes.filter(({ outcome }) => outcome === "failed" || outcome === "conflict");
  if (bad.length === 0) return;
  const lines = new Set(bad.map(({ uri, message }) => `${relative(uri)}: ${message}`));
  void vscode.window.showWarningMessage([...lines].join(" "));
}
