// The rows of the Sessions view. Pure.

import { plural } from "../ui/format";
import type { SessionRow } from "../protocol";
import type { Session } from "../session";
import { openRequests } from "../questions/waiting";
import type { Appearance, Row } from "../ui/row";

export interface SessionNode extends Row {
  readonly sessionId: string;
  readonly state: SessionRow["state"];
  /** Whether the other views show this session. */
  readonly isShown: boolean;
}

const WAITING: Appearance = { icon: "question", color: "charts.yellow", word: "waiting for you" };
const APPEARANCES: Record<SessionRow["state"], Appearance> = {
  running: { icon: "sync~spin", color: "charts.blue", word: "running" },
  paused: { icon: "debug-pause", color: "charts.yellow", word: "paused" },
  idle: { icon: "circle-outline", word: "idle" },
};
const DONE: Appearance = { icon: "pass", color: "charts.green", word: "done" };

/** A row for each listed session, in the same order. `now` is in milliseconds since the epoch. */
export function sessionNodes(sessions: readonly Session[], shown: Session | undefined, now: number): SessionNode[] {
  return sessions.flatMap((session) => (session.row ? [node(session, session.row, session === shown, now)] : []));
}

function node(session: Session, row: SessionRow, shown: boolean, now: number): SessionNode {
  const look =
    openRequests(session) > 0
      ? WAITING
      : row.state === "idle" && row.total > 0 && row.completed === row.total
        ? DONE
        : APPEARANCES[row.state];
  const label = session.title || "New session";
  const count = row.total > 0 ? `${row.completed}/${row.total}` : "";
  const files = row.pendingFiles > 0 ? plural(row.pendingFiles, "file") : "";
  const review = files && `${files} to review`;
  const when = ago(now - Date.parse(row.updatedAt));
  const word = look === WAITING || row.state === "paused" ? look.word : "";
  return {
    sessionId: session.id,
    state: row.state,
    isShown: shown,
    label,
    description: [word, count, files, when].filter(Boolean).join(" · "),
    tooltip: [label, sentence(look.word), count && `${count} steps`, review, sentence(when)].filter(Boolean).join("\n"),
    icon: look.icon,
    color: look.color,
    screenReaderLabel: [
      label,
      shown ? "shown" : "",
      look.word,
      count && `${row.completed} of ${plural(row.total, "step")}`,
      review,
      when,
    ]
      .filter(Boolean)
      .join(", "),
  };
}

/** `just now`, `5 min ago`, `2 h ago`, `3 days ago`. */
export function ago(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return `${plural(Math.floor(minutes / (24 * 60)), "day")} ago`;
}

const sentence = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
