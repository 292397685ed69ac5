// A session in words: its name, and what it does. Pure.

import { t } from "@vscode/l10n";
import type { Session } from "../state/session";
import { lineText } from "./shownText";

/** The maximum length of a session's title in a message, in characters. */
const MAX_TITLE_LENGTH = 50;

/** Returns the name of a session for a message: its title, shortened and in quotes, or `Agent` without one. */
export function sessionName(session: Session | undefined): string {
  const shown = lineText(session?.title ?? "", MAX_TITLE_LENGTH);
  return shown === "" ? "Agent" : `“${shown}”`;
}

/** Returns the progress that the session's running call has reported last; empty if there is none, or it is a command. */
export function progressText({ entries }: Session): string {
  const call = entries.findLast((entry) => entry.kind === "tool" && entry.outcome === "running");
  if (call?.kind !== "tool" || call.hasCommand) return "";
  return lineText(call.output.trimEnd().split("\n").at(-1) ?? "");
}

/** Returns what a running session works on, even if it is waiting for the user. */
export function activityText(session: Session): string {
  if (session.isStarting) return t("Starting the agent");
  if (session.retry) return t("Waiting to send the request again");
  const step = session.plan?.items.find(({ status }) => status === "in_progress");
  return step ? step.activeForm || step.content : t("Working");
}
