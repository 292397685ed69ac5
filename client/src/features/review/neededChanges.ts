// Finds out which of the proposed changes a check needs, by leaving out each in turn.

import { t } from "@vscode/l10n";
import { method, type RunChecksParams } from "../../wire/protocol";
import { orShowWarning } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import type { Session } from "../../state/session";
import type { Store } from "../../state/store";
import { showInformation, showWarning } from "../../ui/show";
import { plainMessage } from "../../ui/text";
import { searchWithProgress } from "./checkProgress";

export class NeededChangesSearch {
  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    /** Lets the user choose or type a check. Returns undefined if the user chooses none. */
    private readonly chooseCheck: (
      session: Session,
      title: string,
      placeholder: string,
    ) => Promise<Pick<RunChecksParams, "check"> | undefined>,
  ) {}

  /** Searches in the first session of the Proposed Changes view, with one or all checks, as the user chooses. */
  async find(): Promise<void> {
    const [session] = this.store.reviewable;
    if (!session) {
      void showInformation(t("There is nothing to review."));
      return;
    }
    const chosen = await this.chooseCheck(
      session,
      t("Agent: Which Changes Does the Check Need"),
      t("A command that passes with all changes"),
    );
    if (!chosen) return;
    const found = await orShowWarning(() =>
      searchWithProgress(
        this.store,
        this.server,
        t("Leaving out each change in turn"),
        session.id,
        ({ runs, mostRuns }) => t("run {0} of at most {1}", runs, mostRuns),
        () => this.server.request(method.neededChanges, { sessionId: session.id, ...chosen }),
      ),
    );
    if (!found) return;
    const hasResult = found.needed.length + found.notNeeded.length + found.unread.length > 0;
    const text = plainMessage(found.message);
    void (hasResult || found.outcome === "stopped" ? showInformation(text) : showWarning(text));
  }
}
