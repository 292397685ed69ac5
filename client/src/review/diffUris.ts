// The addresses of a proposal's two sides, `fairlead-base:` and `fairlead-proposed:`, by session and path (docs/protocol.md).

import * as vscode from "vscode";
import { scheme, type FileEdits } from "../protocol";
import type { Session } from "../session";
import type { Store } from "../state";

export interface DiffSide {
  readonly sessionId: string;
  readonly path: string;
  /** The plan item of which alone the changes are shown. */
  readonly item: string | undefined;
}

export function baseUri(sessionId: string, file: FileEdits): vscode.Uri {
  return vscode.Uri.from({ scheme: scheme.base, authority: sessionId, path: vscode.Uri.parse(file.uri).path });
}

/** The proposed text, or with `item` what only the changes of that plan item make of the file. */
export function proposedUri(sessionId: string, file: FileEdits, item?: string): vscode.Uri {
  const query = item === undefined ? "" : `item=${encodeURIComponent(item)}`;
  return vscode.Uri.from({
    scheme: scheme.proposed,
    authority: sessionId,
    path: vscode.Uri.parse(file.uri).path,
    query,
  });
}

/** What an address of either scheme names; undefined for any other. */
export function parseDiffUri(uri: vscode.Uri): DiffSide | undefined {
  if (uri.scheme !== scheme.proposed && uri.scheme !== scheme.base) return undefined;
  return { sessionId: uri.authority, path: uri.path, item: new URLSearchParams(uri.query).get("item") ?? undefined };
}

/** The address as the server reads it: VS Code writes the `=` of a query as an escape. */
export function wireUri(uri: vscode.Uri): string {
  const item = parseDiffUri(uri)?.item;
  return uri.with({ query: "" }).toString() + (item === undefined ? "" : `?item=${encodeURIComponent(item)}`);
}

/** The proposed changes of the file that a side belongs to, while there are any. */
export function fileAt(store: Store, { sessionId, path }: DiffSide): FileEdits | undefined {
  return fileOf(store.get(sessionId), path);
}

export function fileOf(session: Session | undefined, path: string): FileEdits | undefined {
  return session?.edits?.files.find((file) => vscode.Uri.parse(file.uri).path === path);
}

/** As `fileOf`, also by the name that a file is to have. */
export function fileOrRenamed(session: Session | undefined, path: string): FileEdits | undefined {
  return (
    fileOf(session, path) ??
    session?.edits?.files.find(({ newUri }) => newUri !== null && vscode.Uri.parse(newUri).path === path)
  );
}

/** Documents of proposed texts in which the person has changed something and not saved it. */
export function unsavedProposals(sessionId: string): vscode.TextDocument[] {
  return vscode.workspace.textDocuments.filter(
    ({ uri, isDirty }) => isDirty && uri.scheme === scheme.proposed && uri.authority === sessionId,
  );
}
