// Which part or version of a file a document shows that is not the file itself, such as a side of a diff or a cell of a
// notebook. Pure.

import { scheme } from "../wire/protocol";

/** The parts of a document's URI. */
interface DocumentUri {
  readonly scheme: string;
  readonly authority: string;
  readonly path: string;
  readonly query: string;
}

/** The schemes of text editors in which the user does not work on a document. */
const VIEWS: readonly string[] = ["output", "accessible-view"];

/** Whether a task may be about a document. It is not about output, or about the document in which it is written. */
export function isWorkedOn({ uri, languageId }: { uri: DocumentUri; languageId: string }): boolean {
  return !VIEWS.includes(uri.scheme) && languageId !== "fairlead-task";
}

/** What the URI of the built-in Git extension says about a version of a file. */
interface GitVersion {
  /** The path of the file in the notation of the operating system. */
  readonly path: string;
  /** A commit, a branch or `HEAD`. Empty, or beginning with `~`, for the index. */
  readonly ref: string;
}

/**
 * Returns the version of a file that a document of the Git extension shows; undefined for any other document. The path
 * of its URI may have an ending that the file does not have.
 */
export function gitVersion({ scheme, query }: DocumentUri): GitVersion | undefined {
  if (scheme !== "git") return undefined;
  try {
    const { path, ref } = JSON.parse(query) as { path?: unknown; ref?: unknown };
    return typeof path === "string" ? { path, ref: typeof ref === "string" ? ref : "" } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Says which version of a file a document shows, in English, because the model reads it. Undefined for the file itself.
 * `sessionId` is the session whose model reads it, if it exists already.
 */
export function versionText(uri: DocumentUri, sessionId: string | undefined): string | undefined {
  const changes = uri.authority === sessionId ? "the proposed changes" : "the proposed changes of another session";
  switch (uri.scheme) {
    case "file":
      return undefined;
    case scheme.proposed:
      return new URLSearchParams(uri.query).has("item") ? `with some of ${changes}` : `with ${changes}`;
    case scheme.base:
      return `before ${changes}`;
  }
  const git = gitVersion(uri);
  if (!git) return `as a document of the scheme ${uri.scheme}`;
  return git.ref === "" || git.ref.startsWith("~") ? "as in the Git index" : `as in Git at ${git.ref}`;
}

/** Whether the lines of a document are those that the model of a session reads in the file. */
export function hasLinesOfFile(uri: DocumentUri, sessionId: string | undefined): boolean {
  return uri.scheme === "file" || (uri.scheme === scheme.proposed && uri.authority === sessionId && uri.query === "");
}

/** Returns the numbers of cells in English, counted from 1: `cell 2`, `cells 2 to 4`. `end` is after the last cell. */
export function cellsText({ start, end }: { start: number; end: number }): string {
  return end - start > 1 ? `cells ${start + 1} to ${end}` : `cell ${start + 1}`;
}
