// Converts VS Code's answers about code to LSP's JSON. Does not import VS Code, so that tests need no editor.

import type * as lsp from "vscode-languageclient/node";

/** The maximum number of places or symbols in an answer. The rest are left out. */
export const MOST_PLACES = 2000;
const MOST_HOVER_CHARACTERS = 20_000;
/** The maximum number of text edits and file operations in a workspace edit. */
const MOST_CHANGES = 50_000;

/** The error for an answer that cannot be sent. Its message is for the model. */
export class Unusable extends Error {}

// The parts of VS Code's classes that are used here, with the same names.

interface Uri {
  toString(): string;
}

interface Position {
  readonly line: number;
  readonly character: number;
}

interface Range {
  readonly start: Position;
  readonly end: Position;
}

interface Location {
  readonly uri: Uri;
  readonly range: Range;
}

interface LocationLink {
  readonly targetUri: Uri;
  readonly targetRange: Range;
  readonly targetSelectionRange?: Range;
}

interface Hover {
  /** All of these are Markdown, because VS Code's command converts them. */
  readonly contents: readonly unknown[];
  readonly range?: Range | undefined;
}

interface DocumentSymbol {
  readonly name: string;
  readonly detail: string;
  readonly kind: number;
  readonly range: Range;
  readonly selectionRange: Range;
  readonly children: readonly DocumentSymbol[];
}

interface SymbolInformation {
  readonly name: string;
  readonly kind: number;
  readonly containerName: string;
  readonly location: Location;
}

/**
 * An entry of `WorkspaceEdit._allEntries()`: a file operation (1), a text edit (2), or an edit that changes a notebook
 * or inserts a snippet (the others). The public `entries()` returns only the text edits.
 */
export type EditEntry = FileEntry | TextEntry | { readonly _type: 3 | 5 | 6 };

interface TextEntry {
  readonly _type: 2;
  readonly uri: Uri;
  readonly edit: { readonly range: Range; readonly newText: string };
}

interface FileEntry {
  readonly _type: 1;
  readonly from?: Uri;
  readonly to?: Uri;
  readonly options?: FileOptions | undefined;
}

interface FileOptions {
  readonly overwrite?: boolean;
  readonly ignoreIfExists?: boolean;
  readonly ignoreIfNotExists?: boolean;
  readonly recursive?: boolean;
  readonly contents?: unknown;
}

type FileOperation = lsp.CreateFile | lsp.RenameFile | lsp.DeleteFile;

function position({ line, character }: Position): lsp.Position {
  return { line, character };
}

function range({ start, end }: Range): lsp.Range {
  return { start: position(start), end: position(end) };
}

function location(found: Location | LocationLink): lsp.Location {
  if ("targetUri" in found)
    return { uri: found.targetUri.toString(), range: range(found.targetSelectionRange ?? found.targetRange) };
  return { uri: found.uri.toString(), range: range(found.range) };
}

export function locations(found: readonly (Location | LocationLink)[]): lsp.Location[] {
  return found.slice(0, MOST_PLACES).map(location);
}

/**
 * Joins all hovers into one, with the range of the first and at most `MOST_HOVER_CHARACTERS` characters; null if they
 * contain no text.
 */
export function hover(found: readonly Hover[]): lsp.Hover | null {
  const contents = found.flatMap((each) => each.contents as readonly { readonly value: string }[]);
  const parts = contents.map(({ value }) => value).filter((part) => part.trim() !== "");
  if (parts.length === 0) return null;
  const at = found[0]?.range;
  const value = parts.join("\n\n").slice(0, MOST_HOVER_CHARACTERS);
  return { contents: { kind: "markdown", value }, ...(at ? { range: range(at) } : {}) };
}

/** Returns the outline of a document: at most the first `MOST_PLACES` symbols, counting nested ones. */
export function documentSymbols(found: readonly DocumentSymbol[]): lsp.DocumentSymbol[] {
  let left = MOST_PLACES;
  const convert = (symbols: readonly DocumentSymbol[]): lsp.DocumentSymbol[] =>
    symbols.flatMap((symbol) => {
      if (left-- <= 0) return [];
      return [
        {
          name: symbol.name,
          detail: symbol.detail,
          kind: symbolKind(symbol.kind),
          range: range(symbol.range),
          selectionRange: range(symbol.selectionRange),
          children: convert(symbol.children),
        },
      ];
    });
  return convert(found);
}

export function symbolInformation(symbol: SymbolInformation): lsp.SymbolInformation {
  const { name, kind, containerName } = symbol;
  return {
    name,
    kind: symbolKind(kind),
    location: location(symbol.location),
    ...(containerName ? { containerName } : {}),
  };
}

/** Converts a kind, which VS Code counts from 0 and LSP from 1. */
function symbolKind(kind: number): lsp.SymbolKind {
  return (kind + 1) as lsp.SymbolKind;
}

/**
 * Converts a workspace edit to `documentChanges`. Edits of files that are moved or deleted come first, then the file
 * operations, then all other edits, because VS Code does not say in which order the provider gave them.
 *
 * @param version The version of a document, null if it is closed.
 * @throws Unusable: the edit contains something that LSP cannot express, or too many changes.
 */
export function workspaceEdit(
  entries: readonly EditEntry[],
  version: (uri: string) => number | null,
): lsp.WorkspaceEdit {
  const texts = new Map<string, lsp.TextEdit[]>();
  const operations: FileOperation[] = [];
  for (const entry of entries) {
    if (entry._type === 1) operations.push(fileOperation(entry));
    else if (entry._type === 2) {
      const uri = entry.uri.toString();
      const edits = texts.get(uri) ?? [];
      edits.push({ range: range(entry.edit.range), newText: entry.edit.newText });
      texts.set(uri, edits);
    } else throw new Unusable("The edit contains a snippet or changes a notebook.");
  }
  const count = [...texts.values()].reduce((sum, edits) => sum + edits.length, operations.length);
  if (count > MOST_CHANGES) throw new Unusable(`The edit changes ${count} places. The limit is ${MOST_CHANGES}.`);
  const oldUris = new Set(operations.flatMap((each) => oldUri(each) ?? []));
  const changes = [...texts].map(([uri, edits]) => ({ textDocument: { uri, version: version(uri) }, edits }));
  return {
    documentChanges: [
      ...changes.filter(({ textDocument }) => oldUris.has(textDocument.uri)),
      ...operations,
      ...changes.filter(({ textDocument }) => !oldUris.has(textDocument.uri)),
    ],
  };
}

function fileOperation({ from, to, options = {} }: FileEntry): FileOperation {
  const { overwrite, ignoreIfExists, ignoreIfNotExists, recursive, contents } = options;
  if (contents !== undefined) throw new Unusable("The edit creates a file from bytes.");
  const target = { ...(overwrite ? { overwrite } : {}), ...(ignoreIfExists ? { ignoreIfExists } : {}) };
  if (from && to) return { kind: "rename", oldUri: from.toString(), newUri: to.toString(), options: target };
  if (to) return { kind: "create", uri: to.toString(), options: target };
  if (!from) throw new Unusable("The edit changes a notebook.");
  const removal = { ...(recursive ? { recursive } : {}), ...(ignoreIfNotExists ? { ignoreIfNotExists } : {}) };
  return { kind: "delete", uri: from.toString(), options: removal };
}

function oldUri(operation: FileOperation): string | undefined {
  if (operation.kind === "rename") return operation.oldUri;
  return operation.kind === "delete" ? operation.uri : undefined;
}
