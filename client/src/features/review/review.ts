// Accept, reject, undo and redo: sends the user's decisions to the server and shows what failed.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { stepCount, type DecisionSteps, type Direction } from "../../state/decisions";
import { isAllInConflict, isDecidedAsWhole, isDeletedByUser, weakens } from "./changeNavigation";
import type { CheckRow, EditRow } from "./editRows";
import { relative } from "../../ui/folders";
import {
  method,
  type AcceptParams,
  type Outcome,
  type RejectParams,
  type ReviewResult,
  type Target,
} from "../../wire/protocol";
import type { Edits, FileEdits } from "../../wire/protocolStates";
import { allWasShown } from "./staleness";
import { acceptSummary, failureSummary } from "../../ui/text";
import { orShowWarning } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import { fileOf, hunkOf, unsavedProposals } from "./diffUris";
import type { Session } from "../../state/session";
import type { Store } from "../../state/store";
import { askForText, showBriefly, showInformation, showWarning } from "../../ui/show";

export type Decision = "accept" | "reject";
type DecideParams = AcceptParams & RejectParams;
export type DecisionOptions = Omit<DecideParams, "sessionId" | "target">;

/** The part of a decision about several sessions that concerns one of them. */
interface Part {
  /** The steps of the whole decision so far. This part adds its own. */
  readonly steps: DecisionSteps;
  /** The edits of the session that the user saw. */
  readonly shown: Edits | undefined;
}

/** How long the user has read a message before the same key may be the answer, in milliseconds. */
const READING_TIME = 500;
/** How long the same key may be the answer to a message, in milliseconds. */
const ANSWER_TIME = 30_000;

/** The server's refusal of a decision on something that has changed since it was shown (docs/protocol.md, Errors). */
const STALE = -32801;

export class Review {
  /** The last undo or redo in the queue. */
  private lastUndoOrRedo = Promise.resolve();
  /** The decisions that are being made, as JSON of session and target. */
  private readonly deciding = new Set<string>();
  /** The conflict that the last message was about, as JSON, and when it was shown. */
  private told = { conflict: "", at: -Infinity };

  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
  ) {}

  /**
   * Decides on all proposals of all sessions, or on none if `allows` returns false for a session. Asks the user for
   * confirmation before it rejects.
   */
  async decideAll(
    decision: Decision,
    allows: (session: Session) => Promise<boolean> = () => Promise.resolve(true),
  ): Promise<void> {
    const sessions = this.store.reviewable;
    if (sessions.length === 0) void showInformation(t("There is nothing to review."));
    if (decision === "reject" && sessions.length > 0) {
      const sure = await showWarning(
        t("Reject all proposed changes?"),
        { modal: true, detail: t("Your files do not change. “Agent: Undo Review” restores the proposals.") },
        t("Reject All"),
      );
      if (sure === undefined) return;
    }
    const parts: { id: string; shown: Edits | undefined }[] = [];
    for (const session of sessions) {
      const shown = session.edits;
      if (!(await allows(session))) return;
      parts.push({ id: session.id, shown });
    }
    const steps: DecisionSteps = [];
    for (const { id, shown } of parts)
      await this.decide(decision, { sessionId: id, target: { all: true } }, { steps, shown });
  }

  /** Asks for a reason, which may be empty, and rejects. Closing the box rejects nothing; the result is then undefined. */
  async rejectWithReason(sessionId: string, target: Target): Promise<ReviewResult | undefined> {
    const reason = await askForText({
      title: t("Agent: Reject with Reason"),
      prompt: t("The agent reads it before its next step, or with your next task."),
      placeholder: t("Reason (optional)"),
    });
    if (reason === undefined) return undefined;
    const given = reason.trim();
    return this.decide("reject", { sessionId, target, ...(given === "" ? {} : { reason: given }) });
  }

  /**
   * Makes a decision and shows what failed. Ignores a decision on a hunk or file that is already decided, and one on a
   * target for which another decision is in progress: VS Code still shows the CodeLens of a change for half a second
   * after its decision. An accept of a conflict only says what it would do; the second one does it. Returns undefined if
   * the decision was not made.
   */
  async decide(decision: Decision, params: DecideParams, part?: Part): Promise<ReviewResult | undefined> {
    const key = JSON.stringify([params.sessionId, params.target]);
    if (this.deciding.has(key) || !this.isStillPending(params)) return undefined;
    const replaces = decision === "accept" && this.isConflict(params);
    if (replaces && !this.isAcceptedAgain(params)) return undefined;
    this.deciding.add(key);
    try {
      return await this.decideOnce(decision, replaces ? { ...params, resolution: "proposed" } : params, part);
    } finally {
      this.deciding.delete(key);
    }
  }

  private async decideOnce(decision: Decision, params: DecideParams, part?: Part): Promise<ReviewResult | undefined> {
    const { sessionId, target } = params;
    const before = this.store.get(sessionId)?.edits;
    const isUpToDate = (params.version ?? (part?.shown ?? before)?.version) === before?.version;
    const amended = decision === "accept" ? await this.saveEditedProposals(sessionId, target) : "clean";
    if (amended === "stop") return undefined;
    // the version that the user saw, with their own edit: if the target has changed since, the server refuses
    const current = this.store.get(sessionId)?.edits;
    const isSaved = amended === "saved" && isUpToDate;
    const shown = isSaved ? current : (part?.shown ?? current);
    const seen = isSaved || this.isUnchangedHunk(params) ? current?.version : (params.version ?? shown?.version);
    const asked = { ...params, ...(seen === undefined ? {} : { version: seen }) };
    const result = await this.perform(
      () => this.decideAsShown(decision, asked, shown),
      // no message if an earlier decision included this one
      () => this.isStillPending(params),
      (done) => {
        if (decision === "accept") void this.showRefused(sessionId, done);
        else showFailures(done);
      },
    );
    if (!result) return undefined;
    this.store.decisions.record(part?.steps ?? [], sessionId, stepCount(result, shown));
    if (decision === "accept") this.store.setRefusals(sessionId, result.outcomes);
    return result;
  }

  /** Undoes the last decision. */
  async undo(): Promise<void> {
    await this.undoOrRedo("undo");
  }

  async redo(): Promise<void> {
    await this.undoOrRedo("redo");
  }

  /** Undoes what the user accepted of a plan step, even if the user has made other decisions since. */
  async undoStep(sessionId: string, item: string, content: string): Promise<void> {
    const result = await this.perform(() => this.server.request(method.undo, { sessionId, item }));
    if (!hasOutcome(result, "applied")) return;
    this.store.decisions.record([], sessionId);
    showBriefly(t("Undone: {0}", content));
  }

  /** Runs one undo or redo at a time, because each depends on the result of the one before. */
  private undoOrRedo(direction: Direction): Promise<void> {
    return (this.lastUndoOrRedo = this.lastUndoOrRedo.then(() => this.undoOrRedoNow(direction)));
  }

  /** Undoes or redoes the last decision, in every session that it changed. */
  private async undoOrRedoNow(direction: Direction): Promise<void> {
    const labelKey = `${direction}Label` as const;
    const sessions = this.store.sessionsWith(labelKey);
    const known = this.store.decisions.pop(direction, (id) => sessions.some((session) => session.id === id));
    // the order of the decisions of an earlier window is unknown, so the active session comes first
    const steps = known.length > 0 ? known : sessions.slice(0, 1).map(({ id }) => id);
    if (steps.length === 0)
      void showInformation(direction === "undo" ? t("There is nothing to undo.") : t("There is nothing to redo."));
    const [done, left, labels]: [DecisionSteps, DecisionSteps, string[]] = [[], [], []];
    for (const sessionId of steps) {
      const label = this.store.get(sessionId)?.edits?.[labelKey];
      if (!label) continue;
      const result = await this.perform(() => this.server.request(method[direction], { sessionId }));
      if (!result || hasOutcome(result, "failed")) left.push(sessionId);
      if (!result) continue;
      done.push(sessionId);
      labels.push(label);
    }
    this.store.decisions.push(direction, done, left);
    if (labels.length === 0) return;
    const shownLabels = labels.join(", ");
    showBriefly(direction === "undo" ? t("Undone: {0}", shownLabels) : t("Redone: {0}", shownLabels));
  }

  /**
   * Sends a decision. If the server refuses a decision on everything because proposals have changed since, but the user
   * has seen all that are left, sends it again for these. An earlier part of the same decision may have removed the
   * others.
   */
  private async decideAsShown(
    decision: Decision,
    params: DecideParams,
    shown: Edits | undefined,
  ): Promise<ReviewResult> {
    try {
      return await this.server.request(method[decision], params);
    } catch (error) {
      const now = this.store.get(params.sessionId)?.edits;
      const stale =
        (error as { code?: unknown }).code === STALE && "all" in params.target && params.version === shown?.version;
      if (!stale || !shown || !now || !allWasShown(shown, now)) throw error;
      if (now.files.length === 0) return { outcomes: [], edits: now };
      return this.server.request(method[decision], { ...params, version: now.version });
    }
  }

  /**
   * Sends a request and shows what failed. If `isRelevant` returns false after the request, shows neither failed
   * outcomes nor a refusal because something changed. Returns undefined if the request failed.
   */
  private async perform(
    request: () => Promise<ReviewResult>,
    isRelevant: () => boolean = () => true,
    show: (result: ReviewResult) => unknown = showFailures,
  ): Promise<ReviewResult | undefined> {
    const result = await orShowWarning(async () => {
      try {
        return await request();
      } catch (error) {
        if ((error as { code?: unknown }).code === STALE && !isRelevant()) return undefined;
        throw error;
      }
    });
    if (result && isRelevant()) void show(result);
    return result;
  }

  /** Shows what was not accepted. Of several files, says so in one sentence, with a button that opens the first one. */
  private async showRefused(sessionId: string, result: ReviewResult): Promise<void> {
    const refused = failuresIn(result);
    const files = new Set(result.outcomes.map(({ uri }) => uri));
    const [first] = refused;
    if (first && refused.every((one) => this.isWeakened(sessionId, one))) {
      const names = new Set(refused.map(({ uri }) => relative(uri).split("/").at(-1) ?? ""));
      const message =
        refused.length === 1
          ? t("1 change weakens a test and was not accepted. Look at it in {0}.", [...names].join(", "))
          : t(
              "{0} changes weaken tests and were not accepted. Look at them in {1}.",
              refused.length,
              [...names].join(", "),
            );
      await this.offerToShow(sessionId, first, message);
      return;
    }
    if (!first || files.size < 2) {
      showFailures(result);
      return;
    }
    const failed = refused.map(({ uri, outcome, message }) => {
      const file = fileOf(this.store.get(sessionId), vscode.Uri.parse(uri).path);
      const reason = file && isDeletedByUser(file) ? t("you deleted it") : t("you changed these lines");
      return { name: relative(uri).split("/").at(-1) ?? "", message: outcome === "conflict" ? reason : message };
    });
    const accepted = files.size - new Set(refused.map(({ uri }) => uri)).size;
    await this.offerToShow(sessionId, first, acceptSummary(accepted, failed));
  }

  /** Whether a change was not accepted because it weakens a test. */
  private isWeakened(sessionId: string, { uri, hunk, outcome }: Outcome): boolean {
    const file = fileOf(this.store.get(sessionId), vscode.Uri.parse(uri).path);
    if (!file || outcome !== "failed") return false;
    const changed = file.hunks.find(({ id }) => id === hunk);
    return weakens(file, changed);
  }

  /** Shows a warning with a button that opens a change that was not accepted. */
  private async offerToShow(sessionId: string, first: Outcome, message: string): Promise<void> {
    const show = t("Show");
    if ((await showWarning(message, show)) !== show) return;
    const target = first.hunk === null ? { uri: first.uri } : { uri: first.uri, hunk: first.hunk };
    await vscode.commands.executeCommand("fairlead.showChange", { sessionId, target });
  }

  /**
   * Whether the target is a hunk that is still as the user saw it, and not in conflict. An id is enough to tell,
   * because it is derived from the hunk's content. VS Code updates its CodeLenses only half a second after a decision,
   * and the user may click another CodeLens before that. Always false with a `resolution`.
   */
  private isUnchangedHunk({ sessionId, target, resolution }: DecideParams): boolean {
    if (!("hunk" in target) || resolution !== undefined) return false;
    return hunkOf(this.store, sessionId, target)?.state === "pending";
  }

  /** Whether everything in the target is in conflict with the user's text, and nothing says which text is wanted. */
  private isConflict({ sessionId, target, resolution }: DecideParams): boolean {
    if (!("uri" in target) || resolution !== undefined) return false;
    if ("hunk" in target) return hunkOf(this.store, sessionId, target)?.state === "conflict";
    const file = fileOf(this.store.get(sessionId), vscode.Uri.parse(target.uri).path);
    return file !== undefined && isAllInConflict(file);
  }

  /** Whether the user accepts a conflict again, with the same text of theirs. If not, tells them what that would do. */
  private isAcceptedAgain({ sessionId, target }: DecideParams): boolean {
    const file = "uri" in target ? fileOf(this.store.get(sessionId), vscode.Uri.parse(target.uri).path) : undefined;
    if (!file) return false;
    const conflict = JSON.stringify([sessionId, target, file.hunks.map((hunk) => hunk.conflict)]);
    const [told, since] = [this.told.conflict === conflict, performance.now() - this.told.at];
    if (told && since > READING_TIME && since < ANSWER_TIME) return true;
    if (!told || since >= ANSWER_TIME) {
      this.told = { conflict, at: performance.now() };
      void showWarning(conflictText(file));
    }
    return false;
  }

  /** Whether the target of a decision still exists. Always true if the target is not a hunk or a file. */
  private isStillPending({ sessionId, target }: DecideParams): boolean {
    if (!("uri" in target)) return true;
    if ("hunk" in target) return hunkOf(this.store, sessionId, target) !== undefined;
    return fileOf(this.store.get(sessionId), vscode.Uri.parse(target.uri).path) !== undefined;
  }

  /**
   * Saves the user's unsaved edits in diffs of the target, because they are part of what the user accepts. Returns
   * `stop` if the user must act first: an edit could not be saved, or it changed a hunk of the target.
   */
  private async saveEditedProposals(sessionId: string, target: Target): Promise<"clean" | "saved" | "stop"> {
    const session = this.store.get(sessionId);
    const documents = unsavedProposals(sessionId).filter(({ uri }) => {
      const file = fileOf(session, uri.path);
      return file && isFileInTarget(target, file);
    });
    for (const document of documents) {
      // if it cannot be saved, VS Code shows the reason
      if (!(await document.save())) return "stop";
    }
    if (documents.length === 0) return "clean";
    if (!hunksIn(target).every((hunk) => hunkOf(this.store, sessionId, hunk))) {
      void showInformation(t("Your edit was saved to the proposal. Review it, then accept."));
      return "stop";
    }
    return "saved";
  }
}

function conflictText(file: FileEdits): string {
  if (isDeletedByUser(file)) return t("Accept again to restore the file. Reject keeps it deleted.");
  if (isDecidedAsWhole(file)) return t("Accept again to replace your file. Reject keeps it.");
  return t("Accept again to replace your lines. Reject keeps them.");
}

export function targetOf(row: Exclude<EditRow, CheckRow>): Target {
  switch (row.kind) {
    case "session":
      return { all: true };
    case "weakened":
      return { weakenedTests: true };
    case "folder":
      return { changes: row.uris.map((uri) => ({ uri, hunk: null })) };
    case "file":
      return { uri: row.file.uri };
    case "hunk":
      return { uri: row.file.uri, hunk: row.hunk.id };
  }
}

function isFileInTarget(target: Target, file: FileEdits): boolean {
  const path = vscode.Uri.parse(file.uri).path;
  if ("uri" in target) return vscode.Uri.parse(target.uri).path === path;
  if ("changes" in target) return target.changes.some(({ uri }) => vscode.Uri.parse(uri).path === path);
  if ("weakenedTests" in target) return weakens(file);
  return "all" in target || file.itemIds.includes(target.item);
}

function hunksIn(target: Target): { uri: string; hunk: string }[] {
  const changes = "changes" in target ? target.changes : "hunk" in target ? [target] : [];
  return changes.flatMap(({ uri, hunk }) => (hunk === null ? [] : [{ uri, hunk }]));
}

const hasOutcome = (result: ReviewResult | undefined, wanted: Outcome["outcome"]): boolean =>
  result?.outcomes.some(({ outcome }) => outcome === wanted) ?? false;

const failuresIn = ({ outcomes }: ReviewResult): readonly Outcome[] =>
  outcomes.filter(({ outcome }) => outcome === "failed" || outcome === "conflict");

function showFailures(result: ReviewResult): void {
  const failed = failuresIn(result);
  if (failed.length === 0) return;
  void showWarning(failureSummary(failed.map(({ uri, message }) => ({ name: relative(uri), message }))));
}
