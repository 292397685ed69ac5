// Texts that the server writes: the plan's history, the command rules, the skills and the hooks as pages, the record for the
// clipboard, and the commit message for Source Control.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { safeMarkdown } from "../../ui/markdown";
import { MarkdownPages, showPreview } from "../../ui/markdownPages";
import { commitInputs } from "../../context/git";
import { method, type PageResult, type RecordResult } from "../../wire/protocol";
import { orShowWarning } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import type { Store } from "../../state/store";
import { pick, showInformation, showWarning } from "../../ui/show";

const PAGE_SCHEME = "fairlead-page";
const COSTS = vscode.Uri.from({ scheme: PAGE_SCHEME, authority: "costs", path: "/Costs.md" });
const RULES = vscode.Uri.from({ scheme: PAGE_SCHEME, authority: "commands", path: "/Command Permissions.md" });
const SKILLS = vscode.Uri.from({ scheme: PAGE_SCHEME, authority: "skills", path: "/Skills.md" });
const HOOKS = vscode.Uri.from({ scheme: PAGE_SCHEME, authority: "hooks", path: "/Hooks.md" });

export class Pages implements vscode.Disposable {
  private readonly pages = new MarkdownPages(PAGE_SCHEME, (uri) => this.text(uri));
  private readonly texts = new Map<string, string>();

  /** `restored` resolves when the sessions of an earlier window are loaded. */
  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    private readonly restored: Promise<unknown>,
  ) {}

  /** Shows all versions of the active session's plan. */
  async showHistory(): Promise<void> {
    const sessionId = this.activeId();
    if (sessionId !== undefined)
      await this.show(vscode.Uri.from({ scheme: PAGE_SCHEME, authority: sessionId, path: "/Plan History.md" }));
  }

  /** Shows where commands run in this workspace, when they need approval, and what the user's rules match. */
  showCommandRules(): Promise<void> {
    return this.show(RULES);
  }

  /** Shows the skills and commands, and what is wrong with their files. */
  showSkills(): Promise<void> {
    return this.show(SKILLS);
  }

  /** Shows what a subagent has done so far. `callId` is the call that started it. */
  showSubagent({ sessionId, callId }: { readonly sessionId: string; readonly callId: string }): Promise<void> {
    const uri = { scheme: PAGE_SCHEME, authority: sessionId, path: "/Subagent.md", query: callId };
    return this.show(vscode.Uri.from(uri));
  }

  /** Shows the hooks, whether each may run, and what is wrong with their files. */
  showHooks(): Promise<void> {
    return this.show(HOOKS);
  }

  /** Shows what the sessions of this workspace cost, in total and per day. */
  showCosts(): Promise<void> {
    return this.show(COSTS);
  }

  /** Copies the record of the active session's work as Markdown, for a pull request. */
  copyRecord(): Promise<void> {
    return this.copy(t("Record copied."), (result) => result.markdown);
  }

  /** Copies the record as JSON, with which others can verify the work. */
  copyRecordAsJson(): Promise<void> {
    return this.copy(t("Record copied as JSON."), (result) => `${JSON.stringify(result.record, null, 2)}\n`);
  }

  /**
   * Writes a commit message about the accepted changes into the input box of Source Control. The user commits. `root`
   * is the folder of the repository; without it, the user chooses if there are several repositories.
   */
  async writeCommitMessage(root?: vscode.Uri): Promise<void> {
    const result = await this.record();
    if (result === undefined) return;
    if (result.commitMessage === "") {
      const message = t(
        "You have not accepted any changes from this session. The commit message contains only accepted changes.",
      );
      void showInformation(message);
      return;
    }
    const repository = await pickRepository(root);
    if (!repository || !(await mayReplace(repository.input.value, result.commitMessage))) return;
    repository.input.value = result.commitMessage;
    await vscode.commands.executeCommand("workbench.view.scm");
  }

  dispose(): void {
    this.pages.dispose();
  }

  private async copy(done: string, text: (result: RecordResult) => string): Promise<void> {
    const result = await this.record();
    if (result === undefined) return;
    await vscode.env.clipboard.writeText(text(result));
    void showInformation(done);
  }

  /** Returns the record of the active session. If there is no session or no answer, says so and returns undefined. */
  private async record(): Promise<RecordResult | undefined> {
    const sessionId = this.activeId();
    if (sessionId === undefined) return undefined;
    return orShowWarning(() => this.server.request(method.record, { sessionId }));
  }

  /** Returns the id of the active session. Shows a message if there is none. */
  private activeId(): string | undefined {
    const sessionId = this.store.active?.id;
    if (sessionId === undefined) void showInformation(t("There is no session yet. Run a task first."));
    return sessionId;
  }

  /** Shows a page with its current text, which does not change until the user shows the page again. */
  private async show(uri: vscode.Uri): Promise<void> {
    if ((await orShowWarning(() => this.fetch(uri))) === undefined) return;
    this.pages.redraw(uri);
    await showPreview(uri);
  }

  /** Returns the text of a page. Requests it if VS Code restored the page after a reload. Never throws. */
  private async text(uri: vscode.Uri): Promise<string> {
    await this.restored;
    return this.texts.get(uri.toString()) ?? this.fetch(uri).catch(() => t("*This page is no longer available.*\n"));
  }

  private async fetch(uri: vscode.Uri): Promise<string> {
    const text = safeMarkdown((await this.request(uri)).markdown);
    this.texts.set(uri.toString(), text);
    return text;
  }

  private request({ authority, query }: vscode.Uri): Promise<PageResult> {
    if (authority === RULES.authority) return this.server.request(method.commandRules, {});
    if (authority === HOOKS.authority) return this.server.request(method.hooksPage, {});
    if (authority === SKILLS.authority) return this.server.request(method.skillsPage, {});
    if (authority === COSTS.authority) return this.server.request(method.costs, {});
    if (query !== "") return this.server.request(method.subagentPage, { sessionId: authority, toolCallId: query });
    return this.server.request(method.planHistory, { sessionId: authority });
  }
}

type CommitInput = ReturnType<typeof commitInputs>[number];

async function pickRepository(root?: vscode.Uri): Promise<CommitInput | undefined> {
  const inputs = commitInputs(root);
  if (inputs.length === 0) void showInformation(t("This workspace has no Git repository."));
  if (inputs.length < 2) return inputs[0];
  const items = inputs.map((each) => ({ label: each.name, each }));
  const title = t("Agent: Commit Message from Record");
  return (await pick(items, { title, placeholder: t("For which repository?") }))?.each;
}

/** Returns whether a message may replace what the user wrote. Asks the user if that would lose text. */
async function mayReplace(written: string, message: string): Promise<boolean> {
  if (written.trim() === "" || written === message) return true;
  const detail = t("Your text:\n\n{0}", written);
  const replace = t("Replace");
  return (await showWarning(t("Replace the commit message?"), { modal: true, detail }, replace)) === replace;
}
