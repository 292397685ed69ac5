// Checks the proposals of all sessions together, and shows which of their changes fail together.

import { t } from "@vscode/l10n";
import { showFailure } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import type { Store } from "../../state/store";
import { pick, showInformation, showWarning, withProgress } from "../../ui/show";
import { method } from "../../wire/protocol";
import type { SessionChange, TogetherProgress, TogetherResult } from "../../wire/protocolStates";
import type { Diffs } from "./diffs";
import { togetherRows, togetherText, type TogetherRow } from "./togetherRows";

const SHOW_CHANGES = t("Show Changes");
const CHECK_AGAIN: TogetherRow = { icon: "refresh", label: t("Check Again") };

export class TogetherChecks {
  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    private readonly diffs: Diffs,
  ) {}

  /** Checks all sessions together, or shows the last result as long as it holds. */
  async check(): Promise<void> {
    const known = this.store.together.current.result;
    if (known && (await this.show(known)) !== CHECK_AGAIN) return;
    const result = await this.request();
    if (!result) return;
    const text = togetherText(result);
    const rows = togetherRows(result);
    if (result.outcome === "passes") void showInformation(text);
    else if ((await showWarning(text, ...(rows.length > 0 ? [SHOW_CHANGES] : []))) === SHOW_CHANGES)
      if ((await this.show(result)) === CHECK_AGAIN) await this.check();
  }

  /** Shows a result as a list, and opens the change that the user chooses. Returns the chosen row. */
  private async show(result: TogetherResult): Promise<TogetherRow | undefined> {
    const texts = { title: t("Agent: Check All Sessions Together"), placeholder: t("A change to review") };
    const chosen = await pick([CHECK_AGAIN, ...togetherRows(result)], texts);
    if (chosen?.change) await this.open(chosen.change);
    return chosen;
  }

  private async open({ sessionId, uri, hunk: id }: SessionChange): Promise<void> {
    const file = this.store.get(sessionId)?.edits?.files.find((other) => other.uri === uri);
    const hunk = file?.hunks.find((other) => other.id === id);
    if (file && (hunk || id === null)) await this.diffs.open(sessionId, file, hunk);
    else void showInformation(t("This change has been decided or has changed. Check again."));
  }

  /** Returns the result; undefined if the server refused, which is shown, or the user cancelled. */
  private async request(): Promise<TogetherResult | undefined> {
    return withProgress({ title: t("Checking all sessions together"), cancellable: true }, async (report, token) => {
      const unsubscribe = this.store.together.onChange(() => {
        const { running } = this.store.together.current;
        if (running) report(progressText(running));
      });
      try {
        return await this.server.request(method.checkTogether, {}, token);
      } catch (error) {
        if (!token.isCancellationRequested) showFailure(error);
        return undefined;
      } finally {
        unsubscribe();
      }
    });
  }
}

function progressText({ command, number, count, runs, mostRuns }: TogetherProgress): string {
  return mostRuns > 1
    ? t("{0} ({1} of {2}) failed. Searching the reason: run {3} of at most {4}", command, number, count, runs, mostRuns)
    : t("{0} ({1} of {2})", command, number, count);
}
