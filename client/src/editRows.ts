// The proposed changes as rows: sessions where there are several, files, hunks. Pure.

import type { FileEdits, Hunk } from "./protocol";
import type { Session } from "./state";

export type EditRow =
  | { readonly kind: "session"; readonly sessionId: string; readonly label: string; readonly description: string }
  | { readonly kind: "file"; readonly sessionId: string; readonly file: FileEdits; readonly description: string; readonly tooltip: string }
  | {
      readonly kind: "hunk";
      readonly sessionId: string;
      readonly file: FileEdits;
      readonly hunk: Hunk;
      readonly label: string;
      readonly description: string;
      readonly tooltip: string;
    };

const KINDS: Record<FileEdits["kind"], string> = { create: "new", modify: "", delete: "deleted", rename: "renamed" };

/** The rows below `parent`, or the top ones. */
export function editRows(sessions: readonly Session[], parent: EditRow | undefined, relative: (uri: string) => string): EditRow[] {
  if (parent === undefined) {
    const [only, another] = sessions;
    if (only && !another) return fileRows(only, relative);
    return sessions.map((session) => ({
      kind: "session",
      sessionId: session.id,
      label: session.title || "Task",
      description: plural(session.edits?.files.length ?? 0, "file"),
    }));
  }
  if (parent.kind === "session") {
    const session = sessions.find((other) => other.id === parent.sessionId);
    return session ? fileRows(session, relative) : [];
  }
  // a new file is taken as a whole
  return parent.kind === "file" && parent.file.kind === "modify" ? hunkRows(parent.sessionId, parent.file) : [];
}

function fileRows(session: Session, relative: (uri: string) => string): EditRow[] {
  return (session.edits?.files ?? []).map((file) => {
    const marks = [KINDS[file.kind], file.state === "conflict" ? "conflict" : "", counts(file.additions, file.deletions)];
    const path = relative(file.uri);
    const conflict = file.state === "conflict" ? "\nThe file changed since the edit was proposed." : "";
    return {
      kind: "file",
      sessionId: session.id,
      file,
      description: [folder(path), ...marks].filter(Boolean).join(" · "),
      tooltip: `${path}\n${plural(file.hunks.length, "change")}, ${counts(file.additions, file.deletions)}${conflict}`,
    };
  });
}

function hunkRows(sessionId: string, file: FileEdits): EditRow[] {
  return file.hunks.map((hunk) => ({
    kind: "hunk",
    sessionId,
    file,
    hunk,
    label: hunkLabel(hunk),
    description: counts(hunk.newLines, hunk.oldLines),
    tooltip: `${hunkLabel(hunk)}: ${plural(hunk.newLines, "line")} instead of ${hunk.oldLines}`,
  }));
}

function hunkLabel(hunk: Hunk): string {
  const [start, lines] = hunk.newLines > 0 ? [hunk.newStart, hunk.newLines] : [hunk.newStart + 1, 0];
  return lines > 1 ? `Lines ${start}–${start + lines - 1}` : `Line ${start}`;
}

const counts = (added: number, removed: number): string => `+${added} −${removed}`;
const folder = (path: string): string => path.split("/").slice(0, -1).join("/");
const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

/** How many files wait for a decision. */
export function pendingFiles(sessions: readonly Session[]): number {
  return sessions.reduce((sum, session) => sum + (session.edits?.files.length ?? 0), 0);
}
