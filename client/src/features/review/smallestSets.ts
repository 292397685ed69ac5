// Finds a smallest set of changes with which one or all checks pass, and accepts it.

import { t } from "@vscode/l10n";
import { method, type AgentEvent, type RunChecksParams } from "../../wire/protocol";
import type { SmallestSet } from "../../wire/protocolStates";
import { orShowWarning } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import type { Session } from "../../state/session";
import type { Store } from "../../state/store";
import { countText } from "../../ui/format";
import { plainMessage } from "../../ui/text";
import type { Diffs } from "./diffs";
import type { Review } from "./review";
import { searchWithProgress } from "./checkProgress";
import { showInformation, showWarning } from "../../ui/show";

const TITLE = t("Finding the smallest set that passes");
const REVIEW_OTHERS = t("Review the Others First");

type SearchEvent = Extract<AgentEvent, { kind: "check_search" }>;

export class SmallestSets {
  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    private readonly review: Review,
    private readonly diffs: Diffs,
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
      t("Agent: Find Smallest Set"),
      t("A command that must pass with the set"),
    );
    if (!chosen) return;
    const found = await orShowWarning(() => this.search({ sessionId: session.id, ...chosen }));
    if (found) await this.report(session.id, found);
  }

  /** Accepts the changes in the set that the last search found. */
  async accept(): Promise<void> {
    await this.acceptNeeded(this.store.withSmallestSet?.id ?? "");
  }

  /** Searches and shows the progress. If the user cancels, the result has the smallest set found so far, if any. */
  private async search(params: { sessionId: string; check?: string }): Promise<SmallestSet> {
    return searchWithProgress(
      this.store,
      this.server,
      TITLE,
      params.sessionId,
      (event) => (event.kind === "check_search" ? progressText(event) : ""),
      () => this.server.request(method.minimizeChecks, params),
    );
  }

  private async report(sessionId: string, found: SmallestSet): Promise<void> {
    const text = plainMessage(found.message);
    if (found.needed.length === 0 || found.notNeeded.length === 0) {
      const isFine = found.outcome === "minimal" || found.outcome === "stopped";
      void (isFine ? showInformation(text) : showWarning(text));
      return;
    }
    const accept = found.needed.length === 1 ? t("Accept This One") : t("Accept These {0}", found.needed.length);
    const chosen = await showInformation(text, accept, REVIEW_OTHERS);
    if (chosen === accept) await this.acceptNeeded(sessionId);
    else if (chosen === REVIEW_OTHERS) await this.openFirstNotNeeded(sessionId, found);
  }

  private async acceptNeeded(sessionId: string): Promise<void> {
    const needed = this.store.get(sessionId)?.edits?.smallest?.needed ?? [];
    if (needed.length > 0) await this.review.decide("accept", { sessionId, target: { changes: needed } });
    else void showInformation(t("The result is out of date. Search again."));
  }

  private async openFirstNotNeeded(sessionId: string, { notNeeded }: SmallestSet): Promise<void> {
    const files = this.store.get(sessionId)?.edits?.files ?? [];
    for (const { uri, hunk: id } of notNeeded) {
      const file = files.find((other) => other.uri === uri);
      const hunk = file?.hunks.find((other) => other.id === id);
      if (file && (hunk || id === null)) {
        await this.diffs.open(sessionId, file, hunk);
        return;
      }
    }
    void showInformation(t("These changes have already been accepted or rejected."));
  }
}

function progressText({ runs, mostRuns, changes, left }: SearchEvent): string {
  const all = countText(changes, "change");
  return left < changes
    ? t("run {0} of at most {1}. {2} of {3} left", runs, mostRuns, left, all)
    : t("run {0} of at most {1}. {2}", runs, mostRuns, all);
}
