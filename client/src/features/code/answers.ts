// Answers the agent's questions about the user's files with VS Code's language support (docs/protocol.md,
// agent/editor/...).

import * as vscode from "vscode";
import { LSPErrorCodes, ResponseError, type LanguageClient } from "vscode-languageclient/node";
import type * as lsp from "vscode-languageclient/node";
import { method } from "../../wire/protocol";
import { messageOf } from "../../server/errors";
import { diagnostics, openFile, waitForDiagnostics } from "./diagnostics";
import {
  documentSymbols,
  hover,
  locations,
  MOST_PLACES,
  symbolInformation,
  workspaceEdit,
  type EditEntry,
} from "./lspShapes";
import { Readiness } from "./readiness";
import { sourceFiles } from "../../context/sourceFiles";

type Token = vscode.CancellationToken;
type Command = readonly [name: string, ...args: unknown[]];

/** The maximum number of code actions in an answer, and of those of one kind whose edits VS Code resolves. */
const MOST_ACTIONS = 50;
/** The key in `Readiness` of a question about all languages. */
const ALL_LANGUAGES = "";

/** Registers the answers to the server's `agent/editor/...` requests. */
export function registerCodeAnswers(client: LanguageClient): void {
  const answers = new CodeAnswers();
  const on = (name: string, answer: (params: never, token: Token) => Promise<unknown>): void => {
    client.onRequest(name, (params: unknown, token: Token) =>
      answer(params as never, token).catch((error: unknown) => {
        throw new ResponseError(LSPErrorCodes.RequestFailed, messageOf(error));
      }),
    );
  };
  on(method.diagnostics, diagnostics);
  on(method.definition, answers.definition);
  on(method.references, answers.references);
  on(method.implementation, answers.implementation);
  on(method.hover, answers.hover);
  on(method.documentSymbols, answers.documentSymbols);
  on(method.workspaceSymbols, answers.workspaceSymbols);
  on(method.rename, answers.rename);
  on(method.codeActions, answers.codeActions);
}

/**
 * Answers each request with VS Code's commands. Params and results have LSP's shapes. If VS Code cannot answer, a
 * method throws an error with a message for the model.
 */
class CodeAnswers {
  private readonly readiness = new Readiness();
  private languagesStarted: Promise<void> | undefined;

  definition = async (params: lsp.DefinitionParams, token: Token): Promise<lsp.Location[]> =>
    locations(await this.find<vscode.Location>("vscode.executeDefinitionProvider", params, token));

  implementation = async (params: lsp.ImplementationParams, token: Token): Promise<lsp.Location[]> =>
    locations(await this.find<vscode.Location>("vscode.executeImplementationProvider", params, token));

  references = async (params: lsp.ReferenceParams, token: Token): Promise<lsp.Location[]> => {
    const found = locations(await this.find<vscode.Location>("vscode.executeReferenceProvider", params, token));
    if (params.context.includeDeclaration) return found;
    const declarations = (await this.definition(params, token)).map((place) => JSON.stringify(place));
    return found.filter((place) => !declarations.includes(JSON.stringify(place)));
  };

  hover = async (params: lsp.HoverParams, token: Token): Promise<lsp.Hover | null> =>
    hover(await this.find<vscode.Hover>("vscode.executeHoverProvider", params, token));

  documentSymbols = async ({ textDocument }: lsp.DocumentSymbolParams, token: Token): Promise<lsp.DocumentSymbol[]> => {
    const document = await openFile(vscode.Uri.parse(textDocument.uri));
    const ask = (): Promise<vscode.DocumentSymbol[]> => execute("vscode.executeDocumentSymbolProvider", document.uri);
    return documentSymbols(await this.readiness.ask(document.languageId, ask, () => token.isCancellationRequested));
  };

  workspaceSymbols = async ({ query }: lsp.WorkspaceSymbolParams, token: Token): Promise<lsp.SymbolInformation[]> => {
    const ask = async (): Promise<vscode.SymbolInformation[]> => {
      const found = await execute<vscode.SymbolInformation>("vscode.executeWorkspaceSymbolProvider", query);
      if (found.length === 0) await (this.languagesStarted ??= startLanguages());
      return found;
    };
    const found = await this.readiness.ask(ALL_LANGUAGES, ask, () => token.isCancellationRequested);
    return found.slice(0, MOST_PLACES).map(symbolInformation);
  };

  rename = async (params: lsp.RenameParams, token: Token): Promise<lsp.WorkspaceEdit> =>
    workspaceEdit(
      await this.whenStarted(params, token, async (uri, at) => {
        const edit = await vscode.commands.executeCommand(
          "vscode.executeDocumentRenameProvider",
          uri,
          at,
          params.newName,
        );
        return entries(edit as vscode.WorkspaceEdit | undefined);
      }),
      documentVersion,
    );

  /**
   * Returns the code actions that contain an edit, at most `MOST_ACTIONS`, for the problems that VS Code shows in the
   * range. Leaves out the commands of these actions, because those of TypeScript only report that an action was used.
   */
  codeActions = async ({ textDocument, range, context }: lsp.CodeActionParams): Promise<lsp.CodeAction[]> => {
    const uri = vscode.Uri.parse(textDocument.uri);
    const place = new vscode.Range(toPosition(range.start), toPosition(range.end));
    await waitForDiagnostics(uri);
    const found: vscode.CodeAction[] = [];
    for (const kind of context.only ?? [undefined])
      found.push(
        ...(await execute<vscode.CodeAction>("vscode.executeCodeActionProvider", uri, place, kind, MOST_ACTIONS)),
      );
    return found
      .filter(({ edit, disabled }) => !disabled && entries(edit).length > 0)
      .slice(0, MOST_ACTIONS)
      .map(({ title, kind, isPreferred, edit }) => ({
        title,
        ...(kind ? { kind: kind.value } : {}),
        ...(isPreferred ? { isPreferred } : {}),
        edit: workspaceEdit(entries(edit), documentVersion),
      }));
  };

  /** Runs a command that asks VS Code's providers about a position, and returns its results (see `whenStarted`). */
  private find<Found>(
    command: string,
    params: lsp.TextDocumentPositionParams,
    token: Token,
  ): Promise<readonly Found[]> {
    return this.whenStarted(params, token, (uri, at) => execute<Found>(command, uri, at));
  }

  /**
   * Waits until the project is loaded, then asks about a position. Repeats both while nothing is found and the language
   * support may still be starting.
   */
  private async whenStarted<Found>(
    { textDocument, position }: lsp.TextDocumentPositionParams,
    token: Token,
    ask: (uri: vscode.Uri, at: vscode.Position) => Promise<readonly Found[]>,
  ): Promise<readonly Found[]> {
    const { uri, languageId } = await openFile(vscode.Uri.parse(textDocument.uri));
    const at = toPosition(position);
    const askWhenLoaded = async (): Promise<readonly Found[]> => {
      await waitForProject(uri, at);
      return ask(uri, at);
    };
    return this.readiness.ask(languageId, askWhenLoaded, () => token.isCancellationRequested);
  }
}

async function execute<Found>(...[command, ...args]: Command): Promise<Found[]> {
  return (await vscode.commands.executeCommand<Found[] | undefined>(command, ...args)) ?? [];
}

/**
 * Waits until the project of a document is loaded. While TypeScript loads a project, it answers from the open files
 * alone, so a rename would be incomplete. It answers a request for semantic tokens only when the project is loaded. A
 * request for a single line costs the least.
 */
async function waitForProject(uri: vscode.Uri, at: vscode.Position): Promise<void> {
  const line = new vscode.Range(at.line, 0, at.line + 1, 0);
  await vscode.commands.executeCommand("vscode.provideDocumentRangeSemanticTokens", uri, line);
}

/** Opens one file of each common language that the workspace contains, without showing it. */
async function startLanguages(): Promise<void> {
  const files = await sourceFiles((include, exclude) => vscode.workspace.findFiles(include, exclude, 1));
  await Promise.all(files.map(openFile));
}

/**
 * Returns all entries of an edit, including its file operations.
 *
 * @throws Error: this version of VS Code does not return file operations, so the edit could be incomplete.
 */
function entries(edit: vscode.WorkspaceEdit | undefined): readonly EditEntry[] {
  if (!edit) return [];
  const all = (edit as Partial<{ _allEntries(): readonly EditEntry[] }>)._allEntries?.();
  if (!all) throw new Error("This version of VS Code does not return complete edits.");
  return all;
}

/** Returns the version of an open document; null if it is closed. */
function documentVersion(uri: string): number | null {
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri)?.version ?? null;
}

function toPosition({ line, character }: lsp.Position): vscode.Position {
  return new vscode.Position(line, character);
}
