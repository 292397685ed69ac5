// Lets the user choose a check for a step, and runs checks on all proposed changes, without them, or on what was
// accepted.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import {
  acceptedChoice,
  listedChoices,
  runChoices,
  stepChoices,
  type CheckChoice,
  type ListedCheck,
} from "./checkChoices";
import { resultToShow } from "./checkResults";
import type { PlanEdits } from "./planEdits";
import type { StepNode } from "./planNodes";
import { method, type RunChecksParams, type SuggestedCheck } from "../../wire/protocol";
import type { CheckResult } from "../../wire/protocolStates";
import { orShowWarning, showFailure } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import type { Session } from "../../state/session";
import type { Store } from "../../state/store";
import { plainMessage } from "../../ui/text";
import type { Terminals } from "./terminals";
import { pickBox, showInformation, showRows, showWarning, withProgress, type PickTexts } from "../../ui/show";

const SHOW_OUTPUT = t("Show Output");

export class Checks {
  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    private readonly planEdits: PlanEdits,
    private readonly terminals: Terminals,
  ) {}

  /** Asks for the command that must pass before the step is completed, and sets it. */
  async setCheck(step: StepNode): Promise<void> {
    const choices = stepChoices(step.item, await this.suggestions());
    const chosen = await pick(
      t("Agent: Set Check"),
      t("A command that must pass before this step is completed"),
      choices,
    );
    if (chosen?.command !== undefined) await this.planEdits.setCheck(step, chosen.command);
  }

  /** Runs the check of a step on the proposed files. Without a step, lets the user choose one check or all checks. */
  async run(step?: Partial<StepNode>): Promise<void> {
    if (isStep(step)) {
      await this.runAndReport({ sessionId: step.sessionId, check: step.item.check });
      return;
    }
    const session = this.activeSession();
    if (!session) return;
    const chosen = await this.choose(session, t("Agent: Run Check"), t("A command to run on the proposed files"));
    if (chosen) await this.runAndReport({ sessionId: session.id, ...chosen });
  }

  /**
   * Lets the user choose all checks, one of a session's plan or one that the workspace suggests, or type a command.
   * Returns `check` of `RunChecksParams`, which is left out for all checks; undefined if the user closes the box.
   */
  async choose(
    session: Session,
    title: string,
    placeholder: string,
  ): Promise<Pick<RunChecksParams, "check"> | undefined> {
    const chosen = await pick(title, placeholder, runChoices(session.plan?.items ?? [], await this.suggestions()));
    return chosen?.command === undefined ? chosen && {} : { check: chosen.command };
  }

  /** Runs the check of a step, or all checks, on the files without the undecided changes. */
  async runWithoutChange(step?: Partial<StepNode>): Promise<void> {
    if (isStep(step)) {
      await this.runAndReport({ sessionId: step.sessionId, check: step.item.check, base: true });
      return;
    }
    const session = this.activeSession();
    if (session) await this.runAndReport({ sessionId: session.id, base: true });
  }

  /**
   * Runs all checks on what the user accepted, in every session with something to review, or else in the active one.
   * Runs no more of them once the user has cancelled.
   */
  async runOnAccepted(): Promise<void> {
    const sessions = this.store.reviewable.length > 0 ? this.store.reviewable : [this.activeSession()];
    for (const session of sessions)
      if (session && !(await this.runAndReport({ sessionId: session.id, base: true }))) return;
  }

  /**
   * Returns whether all changes of a session may be accepted: the setting `check.beforeAcceptAll` is off, the session
   * has no checks, they pass, or the user agrees although one does not. False if the checks were refused or cancelled.
   */
  async allowsAcceptAll(sessionId: string): Promise<boolean> {
    const hasStepCheck = this.store.get(sessionId)?.plan?.items.some(({ check }) => check !== "");
    const configuration = vscode.workspace.getConfiguration("fairlead");
    const general = configuration.get<readonly string[]>("checks") ?? [];
    if (!configuration.get<boolean>("check.beforeAcceptAll") || (!hasStepCheck && general.length === 0)) return true;
    const results = await this.request({ sessionId });
    if (!results?.length) return false;
    const failed = results.find(({ passed }) => passed !== true);
    if (!failed) return true;
    const detail = `${plainMessage(failed.message)}\n${t("Your files have not changed yet.")}`;
    const accept = t("Accept Anyway");
    return (await showWarning(t("Accept all changes?"), { modal: true, detail }, accept)) === accept;
  }

  /** Runs checks and shows the result that the user should know about. Returns false if the user cancelled. */
  private async runAndReport(params: RunChecksParams): Promise<boolean> {
    const results = await this.request(params);
    if (results) this.report(params.sessionId, results);
    return results !== undefined;
  }

  private report(sessionId: string, results: readonly CheckResult[]): void {
    const shown = resultToShow(results);
    if (!shown) return;
    const { result, isProblem } = shown;
    const text = plainMessage(result.message);
    const allPass = results.length > 1 && results.every(({ passed }) => passed);
    const show = isProblem ? showWarning : showInformation;
    const actions = result.toolCallId === null ? [] : [SHOW_OUTPUT];
    // not awaited: the user may leave the message open
    void show(allPass ? t("All {0} checks pass. {1}", results.length, text) : text, ...actions).then((action) => {
      if (action !== undefined) this.showOutput(sessionId, result);
    });
  }

  /** Opens the output of a check. Does nothing if the check did not start. */
  showOutput(sessionId: string, { toolCallId }: CheckResult): void {
    if (toolCallId !== null) this.terminals.show({ sessionId, callId: toolCallId });
  }

  /** Returns the results: none if the server refused, which is shown; undefined if the user cancelled. */
  private async request(params: RunChecksParams): Promise<readonly CheckResult[] | undefined> {
    return withProgress({ title: t("Running checks"), cancellable: true }, async (_, token) => {
      try {
        return (await this.server.request(method.runChecks, params, token)).results;
      } catch (error) {
        if (token.isCancellationRequested) return undefined;
        showFailure(error);
        return [];
      }
    });
  }

  private async suggestions(): Promise<readonly SuggestedCheck[]> {
    const found = await orShowWarning(() => this.server.request(method.suggestChecks, {}));
    return found?.suggestions ?? [];
  }

  private activeSession(): Store["active"] {
    const session = this.store.active;
    if (!session) void showInformation(t("There is nothing to check yet. Run a task first."));
    return session;
  }
}

/** Whether VS Code passed a step. The command palette passes nothing. */
function isStep(step: Partial<StepNode> | undefined): step is StepNode {
  return step?.kind === "item";
}

/** Lets the user choose or type a command. Returns undefined if the user closes the box. */
async function pick(
  title: string,
  placeholder: string,
  choices: readonly CheckChoice[],
): Promise<CheckChoice | undefined> {
  const box = pickBox<PickTexts & ListedCheck>({ title, placeholder });
  box.ignoreFocusOut = true;
  const show = (): void => {
    showRows(
      box,
      listedChoices(box.value, choices).map((row) => ({ ...row, alwaysShow: true })),
    );
  };
  box.onDidChangeValue(show);
  show();
  const chosen = await new Promise<CheckChoice | undefined>((resolve) => {
    box.onDidAccept(() => {
      resolve(acceptedChoice(box.value, box.selectedItems[0]?.row, choices));
    });
    box.onDidHide(() => {
      resolve(undefined);
    });
    box.show();
  });
  box.dispose();
  return chosen;
}
