// Diff editors, and accepting and rejecting what they show.

import * as vscode from "vscode";
import type { EditRow } from "./editRows";
import { relative } from "./editsView";
import { method, scheme, type FileEdits, type ReviewResult, type Target } from "./protocol";
import type { AgentServer } from "./server";
import type { Session, Store } from "./state";

type Decision = "accept" | "reject";

export class Review implements vscode.Disposable {
  private readonly unsubscribe: () => void;

  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
  ) {
    this.unsubscribe = store.onChange((change, session) => {
      if (change === "edits") void closeSettledDiffs(session);
    });
  }

  dispose(): void {
    this.unsubscribe();
  }

  /** Opens a file's diff, at a hunk where one is given. */
  async openDiff(row: EditRow): Promise<void> {
    if (row.kind === "session") return;
    const line = row.kind === "hunk" ? Math.max(0, row.hunk.newStart - 1) : undefined;
    const options: vscode.TextDocumentShowOptions = { preview: true };
    if (line !== undefined) options.selection = new vscode.Range(line, 0, line, 0);
    const [left, right] = sides(row.sessionId, row.file);
    await vscode.commands.executeCommand("vscode.diff", left, right, title(row.file), options);
  }

  /** All proposals of all sessions in one multi-file diff. */
  async reviewAll(): Promise<void> {
    for (const session of this.store.reviewable) {
      const files = session.edits?.files ?? [];
      const resources = files.map((file) => [vscode.Uri.parse(file.uri), ...sides(session.id, file)]);
      await vscode.commands.executeCommand("vscode.changes", `Proposed: ${session.title || "task"}`, resources);
      await vscode.commands.executeCommand("workbench.action.keepEditor");
    }
    if (this.store.reviewable.length === 0) void vscode.window.showInformationMessage("There is nothing to review.");
  }

  /** Decides on a row of the tree: a session, a file or a hunk. */
  async decideRow(decision: Decision, row: EditRow | undefined): Promise<void> {
    if (row === undefined) {
      // VS Code lost the row while the tree was drawn anew
      vscode.window.setStatusBarMessage("The list had just changed; nothing was done. Try again.", 5000);
      return;
    }
    const target: Target =
      row.kind === "session"
        ? { all: true }
        : row.kind === "file"
          ? { uri: row.file.uri }
          : { uri: row.file.uri, hunk: row.hunk.id };
    await this.decide(decision, row.sessionId, target);
  }

  /** Decides on everything there is. */
  async decideAll(decision: Decision): Promise<void> {
    const sessions = this.store.reviewable;
    if (sessions.length === 0) void vscode.window.showInformationMessage("There is nothing to review.");
    if (decision === "reject" && sessions.length > 0) {
      const sure = await vscode.window.showWarningMessage(
        "Reject all proposed changes?",
        { modal: true, detail: "Your files stay as they are. The proposals are gone then." },
        "Reject All",
      );
      if (sure === undefined) return;
    }
    for (const session of sessions) await this.decide(decision, session.id, { all: true });
  }

  /** Decides on the file whose diff is in front. */
  async decideActive(decision: Decision): Promise<void> {
    const shown = activeProposal();
    if (!shown) {
      void vscode.window.showInformationMessage("No proposed change is open. Open one from Proposed Changes.");
      return;
    }
    await this.decide(decision, shown.sessionId, { uri: shown.file.toString() });
  }

  private async decide(decision: Decision, sessionId: string, target: Target): Promise<void> {
    // what the person saw: if the target changed since, the server refuses and nothing happens
    const version = this.store.get(sessionId)?.edits?.version;
    try {
      const result = await this.server.request<ReviewResult>(decision === "accept" ? method.accept : method.reject, {
        sessionId,
        target,
        ...(version === undefined ? {} : { version }),
      });
      report(result);
    } catch (error) {
      void vscode.window.showWarningMessage(error instanceof Error ? error.message : String(error));
    }
  }
}

function report(result: ReviewResult): void {
  const bad = result.outcomes.filter(({ outcome }) => outcome === "failed" || outcome === "conflict");
  if (bad.length === 0) return;
  const lines = new Set(bad.map(({ uri, message }) => `${relative(uri)}: ${message}`));
  void vscode.window.showWarningMessage([...lines].join(" "));
}

function sides(sessionId: string, file: FileEdits): [vscode.Uri, vscode.Uri] {
  const path = vscode.Uri.parse(file.uri).path;
  const side = (name: string): vscode.Uri => vscode.Uri.from({ scheme: name, authority: sessionId, path });
  return [side(scheme.base), side(scheme.proposed)];
}

function title(file: FileEdits): string {
  const name = relative(file.uri).split("/").at(-1) ?? file.uri;
  return `${name} (${file.kind === "create" ? "new file, proposed" : "proposed"})`;
}

function activeProposal(): { sessionId: string; file: vscode.Uri } | undefined {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return input instanceof vscode.TabInputTextDiff ? proposalOf(input.modified) : undefined;
}

function proposalOf(uri: vscode.Uri): { sessionId: string; file: vscode.Uri } | undefined {
  if (uri.scheme !== scheme.proposed) return undefined;
  return { sessionId: uri.authority, file: vscode.Uri.file(uri.path) };
}

/** Closes the diffs of files in which nothing is left to decide. */
async function closeSettledDiffs(session: Session): Promise<void> {
  const open = new Set((session.edits?.files ?? []).map((file) => vscode.Uri.parse(file.uri).path));
  const settled = vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter(({ input }) => {
      if (!(input instanceof vscode.TabInputTextDiff)) return false;
      const shown = proposalOf(input.modified);
      return shown?.sessionId === session.id && !open.has(shown.file.path);
    });
  if (settled.length > 0) await vscode.window.tabGroups.close(settled, true);
}
