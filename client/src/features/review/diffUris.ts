// The URIs of a diff's two sides, `fairlead-base:` and `fairlead-proposed:`, with session and path (docs/protocol.md).
// For a renamed file, both have the old path.

import * as vscode from "vscode";
import { scheme } from "../../wire/protocol";
import type { FileEdits, Hunk } from "../../wire/protocolStates";
import type { Session } from "../../state/session";
import type { Store } from "../../state/store";

export interface DiffSide {
  readonly sessionId: string;
  readonly path: string;
  /** If set, only the changes of this plan item are shown. */
  readonly item: string | undefined;
}

export function baseUri(sessionId: string, file: FileEdits): vscode.Uri {
  return vscode.Uri.from({ scheme: scheme.base, authority: sessionId, path: vscode.Uri.parse(file.uri).path });
}

/** Returns the URI of the proposed text; with `item`, of the text with only that plan item's changes. */
export function proposedUri(sessionId: string, file: FileEdits, item?: string): vscode.Uri {
  const query = item === undefined ? "" : `item=${encodeURIComponent(item)}`;
  return vscode.Uri.from({
    scheme: scheme.proposed,
    authority: sessionId,
    path: vscode.Uri.parse(file.uri).path,
    query,
  });
}

/**
 * Returns the session, the path and the plan item in the URI of a diff's side; undefined for a URI of another scheme.
 * Only the scheme says which side it is.
 */
export function parseDiffUri(uri: vscode.Uri): DiffSide | undefined {
  if (uri.scheme !== scheme.proposed && uri.scheme !== scheme.base) return undefined;
  return { sessionId: uri.authority, path: uri.path, item: new URLSearchParams(uri.query).get("item") ?? undefined };
}

/** Returns the URI in the server's notation. VS Code would escape the `=` in the query. */
export function wireUri(uri: vscode.Uri): string {
  const item = parseDiffUri(uri)?.item;
  return uri.with({ query: "" }).toString() + (item === undefined ? "" : `?item=${encodeURIComponent(item)}`);
}

/** Returns the proposed changes to the file of a side, if there are any. */
export function fileAt(store: Store, { sessionId, path }: DiffSide): FileEdits | undefined {
  return fileOf(store.get(sessionId), path);
}

/** Returns the proposed changes to the file at a path, if there are any. */
export function fileOf(session: Session | undefined, path: string): FileEdits | undefined {
  return session?.edits?.files.find((file) => vscode.Uri.parse(file.uri).path === path);
}

/** Like `fileOf`, but also finds a renamed file by its new path. */
export function fileOrRenamed(session: Session | undefined, path: string): FileEdits | undefined {
  return (
    fileOf(session, path) ??
    session?.edits?.files.find(({ newUri }) => newUri !== null && vscode.Uri.parse(newUri).path === path)
  );
}

/** Returns a hunk of a file, if it is still proposed. */
export function hunkOf(
  store: Store,
  sessionId: string,
  { uri, hunk }: { uri: string; hunk: string },
): Hunk | undefined {
  return fileOf(store.get(sessionId), vscode.Uri.parse(uri).path)?.hunks.find(({ id }) => id === hunk);
}

/** Returns the documents of proposed texts that the user has edited but not saved. */
export function unsavedProposals(sessionId: string): vscode.TextDocument[] {
  return vscode.workspace.textDocuments.filter(
    ({ uri, isDirty }) => isDirty && uri.scheme === scheme.proposed && uri.authority === sessionId,
  );
}
