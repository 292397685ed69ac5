// Failures of requests to the server, and how the user learns of them.

import { t } from "@vscode/l10n";
import { showWarning } from "../ui/show";

/** The server could not be started. The user has seen the reason. */
export class NotStarted extends Error {}

/** The server ended before it answered a request. */
export class ServerGone extends Error {
  /** `isRequested`: whether the extension stopped the server, for example because the user restarts it. */
  constructor(readonly isRequested: boolean) {
    super(t("The agent's server stopped."));
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the result of `request`. If the request fails, returns undefined and shows the reason (`showFailure`). */
export async function orShowWarning<Result>(request: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await request();
  } catch (error) {
    showFailure(error);
    return undefined;
  }
}

/** Shows why a request failed, unless the user has already seen the reason (`NotStarted`). */
export function showFailure(error: unknown): void {
  if (!(error instanceof NotStarted)) void showWarning(messageOf(error));
}
