// A search with checks that the user can cancel. It then ends with what it has found so far.

import { method, type AgentEvent } from "../../wire/protocol";
import { orShowWarning } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import type { Store } from "../../state/store";
import { withProgress } from "../../ui/show";

type SearchEvent = Extract<AgentEvent, { kind: "check_search" | "needed_progress" }>;

/** Runs `search` and shows the progress of the search in a session. Cancelling stops the search. */
export async function searchWithProgress<Result>(
  store: Store,
  server: AgentServer,
  title: string,
  sessionId: string,
  describe: (event: SearchEvent) => string,
  search: () => Promise<Result>,
): Promise<Result> {
  return withProgress({ title, cancellable: true }, async (report, token) => {
    let handle: string | undefined;
    const stop = (): void => {
      if (!token.isCancellationRequested || handle === undefined) return;
      const params = { sessionId, handle };
      void orShowWarning(() => server.request(method.stopCommand, params));
    };
    const unsubscribe = store.onEvent((event) => {
      const isProgress = event.kind === "check_search" || event.kind === "needed_progress";
      if (!isProgress || event.sessionId !== sessionId) return;
      if (handle === undefined) {
        handle = event.handle;
        stop(); // the user may have cancelled before the search had a handle
      }
      report(describe(event));
    });
    token.onCancellationRequested(stop);
    try {
      return await search();
    } finally {
      unsubscribe();
    }
  });
}
