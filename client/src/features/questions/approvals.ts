// The pending approvals. They are in the store, so they appear as rows, as notices, in the conversation and in the
// status bar.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { describeApproval } from "../../ui/approvalTexts";
import { relative } from "../../ui/folders";
import { sessionName } from "../../ui/sessionTexts";
import type { ApproveParams, ApproveResult, TryRuleParams, TryRuleResult } from "../../wire/protocol";
import type { Store } from "../../state/store";
import { isOwnAccept, type Answer } from "../../state/waiting";
import { hostRuleProblem } from "./hostRules";
import { toolRuleProblem } from "./toolRules";
import { askForText, showBriefly, showWarning, type CheckedText } from "../../ui/show";

/** How long a question has been there before a key may be its answer, in milliseconds. */
const READING_TIME = 500;

/** The settings with the rules that allow something always, apart from commands. */
const SETTINGS: Partial<Record<ApproveParams["kind"], string>> = { tool: "tools.allow", web: "web.allow" };

export class Approvals {
  private readonly pending = new Map<ApproveParams, { decide: (result: ApproveResult) => void; since: number }>();

  constructor(
    private readonly store: Store,
    private readonly tryRule: (params: TryRuleParams) => Promise<TryRuleResult>,
  ) {}

  /** Waits for the user's answer. A withdrawn approval counts as rejected. */
  async ask(approval: ApproveParams, withdrawn: vscode.CancellationToken): Promise<ApproveResult> {
    const answered = new Promise<ApproveResult>((resolve) => {
      this.pending.set(approval, { decide: resolve, since: performance.now() });
      withdrawn.onCancellationRequested(() => {
        resolve({ option: "reject" });
      });
    });
    this.store.addApproval(approval);
    try {
      return await answered;
    } finally {
      this.pending.delete(approval);
      this.store.removeApproval(approval);
    }
  }

  /** Shows the whole approval in a dialog. Enter chooses the safe answer; closing the dialog is not an answer. */
  async showDialog(approval: ApproveParams): Promise<void> {
    const { dialogTitle: question, details, choices } = describeApproval(approval, relative);
    const safeFirst = [...choices].sort((a, b) => Number(b.option === "reject") - Number(a.option === "reject"));
    const task = t("For {0}.", sessionName(this.store.get(approval.sessionId)));
    const later = { title: t("Decide Later"), isCloseAffordance: true };
    const chosen = await showWarning(
      question,
      { modal: true, detail: [details, task].filter(Boolean).join("\n\n") },
      ...safeFirst.map(({ title }) => ({ title })),
      later,
    );
    const choice = choices.find(({ title }) => title === chosen?.title);
    if (choice) await this.choose(approval, choice.option);
  }

  /** Answers an approval, after a question about the rule or the reason if the answer needs one. */
  async choose(approval: ApproveParams, answer: Answer): Promise<void> {
    if (!this.pending.has(approval)) showBriefly(t("This was answered already."));
    else if (answer === "allow_always") await this.allowAlways(approval);
    else if (answer === "reject_because") await this.rejectBecause(approval);
    else this.decide(approval, { option: answer });
  }

  /** Shows the rules that would allow what is asked, saves what the user makes of them, and allows it once. */
  private async allowAlways(approval: ApproveParams): Promise<void> {
    const saved: string[] = [];
    for (const [index, proposed] of approval.rules.entries()) {
      const step = approval.rules.length > 1 ? ` (${index + 1}/${approval.rules.length})` : "";
      const check = (text: string): Promise<CheckedText> => this.check(approval, proposed, text);
      // VS Code checks a text only when the user has changed it
      const { message: prompt } = await check(proposed);
      const texts = { title: `${t("Agent: Always Allow")}${step}`, prompt };
      const rule = await askForText(texts, { value: proposed, ignoreFocusOut: true, check });
      if (rule === undefined) return;
      saved.push(rule.trim());
    }
    const settings = vscode.workspace.getConfiguration("fairlead");
    const setting = SETTINGS[approval.kind] ?? "bash.allow";
    const rules = new Set([...settings.get<string[]>(setting, []), ...saved]);
    await settings.update(setting, [...rules], vscode.ConfigurationTarget.Global);
    this.decide(approval, { option: "allow_once" });
    showBriefly(t("Saved in the setting {0}.", `fairlead.${setting}`));
  }

  /** Checks what the user makes of a proposed rule. The rule that is proposed for a command is the command itself. */
  private async check(approval: ApproveParams, proposed: string, rule: string): Promise<CheckedText> {
    if (approval.kind === "web") {
      const problem = hostRuleProblem(rule, approval.server ?? "");
      const message = t(
        "Pages of hosts that match this are fetched without asking in all sessions. *.example.com stands for all sub-domains.",
      );
      return { message: problem ?? message, isProblem: problem !== undefined };
    }
    if (approval.kind !== "tool")
      return checkedRule(await this.tryRule({ rule, command: proposed, mode: approval.mode ?? "workspace" }));
    const problem = toolRuleProblem(rule, approval);
    const message = t("Calls that match this run without asking in all sessions. * stands for any characters.");
    return { message: problem ?? message, isProblem: problem !== undefined };
  }

  private async rejectBecause(approval: ApproveParams): Promise<void> {
    const reason = await askForText({
      title: t("Agent: Reject Because..."),
      prompt: t("The agent reads it and continues."),
      placeholder: t("What should it do instead?"),
    });
    if (reason !== undefined) this.reject(approval, reason.trim());
  }

  /** Rejects what the agent asks to do, with a reason that it reads. */
  reject(approval: ApproveParams, reason: string): void {
    this.decide(approval, { option: "reject", reason });
  }

  /**
   * Confirms the accept of a protected file if the user has been asked about it: they accepted it again. Returns whether
   * there was such a question; if it has just come, the key was held down, and that does not confirm.
   */
  confirm(uri: string): boolean {
    for (const [approval, { since }] of this.pending) {
      if (!isOwnAccept(approval) || !isSameUri(approval.uri ?? "", uri)) continue;
      if (performance.now() - since > READING_TIME) this.decide(approval, { option: "allow_once" });
      return true;
    }
    return false;
  }

  /** Answers an approval, if it is still pending. */
  private decide(approval: ApproveParams, result: ApproveResult): void {
    this.pending.get(approval)?.decide(result);
  }
}

const isSameUri = (one: string, other: string): boolean =>
  vscode.Uri.parse(one).toString() === vscode.Uri.parse(other).toString();

function checkedRule({ problem, matches, misses }: TryRuleResult): CheckedText {
  if (problem !== "") return { message: problem, isProblem: true };
  const message = t(
    "Runs without asking in all sessions, also outside the sandbox and with the network: {0}. Still asks: {1}",
    matches.join(", "),
    misses.slice(0, 3).join(", "),
  );
  return { message, isProblem: false };
}
