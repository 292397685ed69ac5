// The rows of the Sessions view. Pure.

import { t } from "@vscode/l10n";
import { oneOrMany, countText, spentSummary } from "../../ui/format";
import type { SessionRow } from "../../wire/protocolStates";
import { endingOf, type Ending, type Session } from "../../state/session";
import { openRequests } from "../../state/waiting";
import type { Appearance, Row } from "../../ui/row";
import { modelLabel } from "../../ui/modelTexts";
import { capitalized } from "../../ui/text";

export interface SessionNode extends Row {
  readonly sessionId: string;
  readonly phase: SessionRow["phase"] | "elsewhere";
  /** Whether the other views show this session. */
  readonly isShown: boolean;
  /** As the description, and with the state even if the icon is enough in the view. The user finds sessions by it. */
  readonly found: string;
}

const WAITING: Appearance = { icon: "question", color: "charts.yellow", word: t("waiting for you") };
const APPEARANCES: Record<SessionRow["phase"], Appearance> = {
  running: { icon: "sync~spin", color: "charts.blue", word: t("running") },
  paused: { icon: "debug-pause", color: "charts.yellow", word: t("paused") },
  idle: { icon: "circle-outline", word: t("idle") },
};
const DONE: Appearance = { icon: "pass", color: "charts.green", word: t("done") };
/** How a session without a run looks, by how its last run ended. */
const ENDED: Partial<Record<Ending, Appearance>> = {
  done: { icon: "check", word: t("finished") },
  stopped: { icon: "circle-slash", word: t("stopped") },
  unfinished: { icon: "warning", color: "charts.yellow", word: t("unfinished") },
  failed: { icon: "error", color: "charts.red", word: t("failed") },
};
const ELSEWHERE: Appearance = { icon: "lock", word: t("open in another window") };

/** What the view shows with the icon only. */
const SILENT = [APPEARANCES.running, APPEARANCES.idle, DONE, ENDED.done];

/** A row for each listed session, in the same order. `now` is in milliseconds since the epoch. */
export function sessionNodes(sessions: readonly Session[], shown: Session | undefined, now: number): SessionNode[] {
  return sessions.flatMap((session) => (session.row ? [node(session, session.row, session === shown, now)] : []));
}

function node(session: Session, row: SessionRow, isShown: boolean, now: number): SessionNode {
  const label = session.title || t("New session");
  if (row.openElsewhere) return elsewhereNode(session.id, label, isShown);
  const look = appearance(session, row);
  const count = row.total > 0 ? `${row.completed}/${row.total}` : "";
  const files = row.pendingFiles > 0 ? countText(row.pendingFiles, "file") : "";
  const review = files && t("{0} to review", files);
  const when = ago(now - Date.parse(row.updatedAt));
  const marks = isShown ? [t("shown")] : [];
  const cost = spentSummary(row);
  const facts = [count, files, when].filter(Boolean);
  return {
    sessionId: session.id,
    phase: row.phase,
    isShown,
    label,
    description: [...marks, ...(SILENT.includes(look) ? [] : [look.word]), ...facts].join(" · "),
    found: [...marks, look.word, ...facts].join(" · "),
    tooltip: [
      label,
      capitalized(look.word),
      count && t("{0} steps", count),
      review,
      cost && t("Cost: {0}", cost),
      session.recording === "" && row.model.model !== "" && t("Model: {0}", modelLabel(row.model)),
      capitalized(when),
    ]
      .filter(Boolean)
      .join("\n"),
    icon: look.icon,
    color: look.color,
    screenReaderLabel: [
      label,
      isShown ? t("shown") : "",
      look.word,
      count && t("{0} of {1}", row.completed, countText(row.total, "step")),
      review,
      when,
    ]
      .filter(Boolean)
      .join(", "),
  };
}

function appearance(session: Session, row: SessionRow): Appearance {
  if (openRequests(session) > 0) return WAITING;
  if (row.phase !== "idle") return APPEARANCES[row.phase];
  const ended = row.ended === null ? undefined : endingOf({ stopReason: row.ended });
  if ((ended === undefined || ended === "done") && row.total > 0 && row.completed === row.total) return DONE;
  return (ended && ENDED[ended]) ?? APPEARANCES.idle;
}

/** The row of a session whose state only another window knows. */
function elsewhereNode(sessionId: string, label: string, isShown: boolean): SessionNode {
  const { icon, word } = ELSEWHERE;
  const description = [isShown ? t("shown") : "", word].filter(Boolean).join(" · ");
  return {
    sessionId,
    phase: "elsewhere",
    isShown,
    label,
    description,
    found: description,
    tooltip: `${label}\n${capitalized(word)}`,
    icon,
    color: undefined,
    screenReaderLabel: [label, isShown ? t("shown") : "", word].filter(Boolean).join(", "),
  };
}

/** Returns how long ago something was: `just now`, `5 min ago`, `2 h ago`, `3 days ago`. */
export function ago(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 1) return t("just now");
  if (minutes < 60) return t("{0} min ago", minutes);
  if (minutes < 24 * 60) return t("{0} h ago", Math.floor(minutes / 60));
  const days = Math.floor(minutes / (24 * 60));
  return oneOrMany(days, t("1 day ago"), t("{0} days ago", days));
}
