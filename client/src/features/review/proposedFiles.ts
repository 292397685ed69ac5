// Both sides of a diff as files of a file system: when VS Code restores a diff, it starts the extension for a file
// system, but not for a content provider. `fairlead-base:` is read-only. In `fairlead-proposed:` the user can edit most
// proposed texts (see `amendable`), and saving amends the proposal. If the agent has changed the proposal meanwhile,
// the user's text replaces it only if the user confirms that.
//
// VS Code itself refuses such a save, and offers to compare and to overwrite, if the file's size has changed. So the
// reported size is a digest of the text, not a number of bytes. `writeFile` refuses what VS Code misses, such as a
// change at the moment of the save.

import { t } from "@vscode/l10n";
import { createHash } from "node:crypto";
import * as vscode from "vscode";
import { method, scheme, type AmendParams } from "../../wire/protocol";
import type { FileEdits } from "../../wire/protocolStates";
import { messageOf } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import { fileAt, parseDiffUri } from "./diffUris";
import type { DiffText, DiffContents } from "./diffContents";
import type { Store } from "../../state/store";
import { normalizedText, hasUniformLineEndings } from "../../ui/text";

const BOM = "\ufeff";

/**
 * The revisions of the proposed text when VS Code began the last two attempts to save a document. `before` is undefined
 * if there was only one.
 */
interface SaveAttempts {
  readonly before: number | undefined;
  readonly last: number;
}

export class ProposedFiles implements vscode.FileSystemProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;
  /**
   * The revision from which an open document was loaded or last saved, by URI; missing if VS Code restored the document
   * with unsaved text.
   */
  private readonly loadedRevisions = new Map<string, number>();
  private readonly saveAttempts = new Map<string, SaveAttempts>();
  /**
   * Modification times start here, in milliseconds since the epoch, so that they are later than those of an earlier
   * window.
   */
  private readonly startedAt = Date.now();
  private readonly disposables: { dispose(): unknown }[];

  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    private readonly texts: DiffContents,
  ) {
    this.disposables = [
      vscode.workspace.registerFileSystemProvider(scheme.base, this, { isCaseSensitive: true, isReadonly: true }),
      vscode.workspace.registerFileSystemProvider(scheme.proposed, this, { isCaseSensitive: true }),
      texts.onDidChange((uri) => {
        this.changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
      }),
      vscode.workspace.onDidOpenTextDocument((document) => {
        this.recordLoadedRevision(document);
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        this.recordLoadedRevision(document);
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        this.loadedRevisions.delete(uri.toString());
        this.saveAttempts.delete(uri.toString());
      }),
      vscode.workspace.onWillSaveTextDocument((event) => {
        if (event.document.uri.scheme === scheme.proposed) event.waitUntil(this.recordSaveAttempt(event.document.uri));
      }),
      this.changed,
    ];
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const current = await this.texts.read(uri);
    const file = {
      type: vscode.FileType.File,
      ctime: 0,
      mtime: this.startedAt + current.revision,
      size: pseudoSize(current),
    };
    if (this.amendable(uri, current.text)) return file;
    // with unsaved text: an old time, so that VS Code lets a save reach `writeFile`, which explains the problem
    if (documentAt(uri)?.isDirty) return { ...file, mtime: 0 };
    return { ...file, permissions: vscode.FilePermission.Readonly };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const { text } = await this.texts.read(uri);
    return Buffer.from(needsByteOrderMark(uri) && !text.startsWith(BOM) ? BOM + text : text);
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    const name = uri.path.split("/").at(-1) ?? "";
    const current = await this.texts.read(uri);
    const file = this.amendable(uri, current.text);
    if (!file) {
      throw userError(
        t(
          "The proposed text of {0} cannot be saved now. Your text is still in the editor: copy it to where you need it.",
          name,
        ),
      );
    }
    const loaded = this.loadedRevisions.get(uri.toString());
    if (loaded !== undefined && loaded !== current.revision && !this.isOverwrite(uri, current)) {
      const marked = this.texts.markChanged(uri);
      if (marked) this.saveAttempts.set(uri.toString(), { before: undefined, last: marked.revision });
      throw userError(
        t("The agent just changed its proposal for {0}. Your text is not saved: save again to compare the two.", name),
      );
    }
    const typed = Buffer.from(content)
      .toString()
      .replace(/^\ufeff/, "");
    const text = current.text.startsWith(BOM) ? BOM + typed : typed;
    // a save without a change, such as an automatic one, must not become a step of the undo history
    if (text !== current.text) {
      const { version } = current;
      const seen = version === undefined ? {} : { version };
      await this.amend({ sessionId: uri.authority, uri: file.uri, text, ...seen });
      this.store.decisions.record([], uri.authority);
    }
    this.loadedRevisions.set(uri.toString(), this.texts.set(uri, text).revision);
    this.saveAttempts.delete(uri.toString());
  }

  watch(): vscode.Disposable {
    // changes of all open documents are reported anyway
    return new vscode.Disposable(() => undefined);
  }

  readDirectory(): never {
    throw vscode.FileSystemError.Unavailable("A proposal has no folders.");
  }

  createDirectory(): never {
    throw vscode.FileSystemError.NoPermissions("A proposal has no folders.");
  }

  delete(): never {
    throw vscode.FileSystemError.NoPermissions("Reject the proposed change instead.");
  }

  rename(): never {
    throw vscode.FileSystemError.NoPermissions("Proposed files cannot be renamed.");
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  private async amend(params: AmendParams): Promise<void> {
    try {
      await this.server.request(method.amend, params);
    } catch (error) {
      throw userError(messageOf(error));
    }
  }

  /**
   * Returns the proposed changes to a file, if the user can edit its proposed text; else undefined. The user cannot
   * edit the text of a single plan step, the text of a deleted or binary file, or a text with mixed line endings, which
   * VS Code would not preserve.
   */
  private amendable(uri: vscode.Uri, text: string): FileEdits | undefined {
    const side = uri.scheme === scheme.proposed ? parseDiffUri(uri) : undefined;
    const file = side && side.item === undefined ? fileAt(this.store, side) : undefined;
    return file && file.kind !== "delete" && !file.binary && hasUniformLineEndings(text) ? file : undefined;
  }

  private recordLoadedRevision(document: vscode.TextDocument): void {
    if (document.uri.scheme !== scheme.proposed || document.isDirty) return;
    const known = this.texts.known(document.uri);
    // VS Code reports the first keystroke before it marks the document as dirty, hence the comparison
    if (known && normalizedText(known.text) === normalizedText(document.getText()))
      this.loadedRevisions.set(document.uri.toString(), known.revision);
  }

  private async recordSaveAttempt(uri: vscode.Uri): Promise<vscode.TextEdit[]> {
    const { revision } = await this.texts.read(uri);
    this.saveAttempts.set(uri.toString(), { before: this.saveAttempts.get(uri.toString())?.last, last: revision });
    return [];
  }

  /**
   * Whether the previous attempt to save found the same proposed text. VS Code refused that attempt, so this one is the
   * user's "Overwrite".
   */
  private isOverwrite(uri: vscode.Uri, current: DiffText): boolean {
    return this.saveAttempts.get(uri.toString())?.before === current.revision;
  }
}

/**
 * Returns a number that depends on the text and its change marks. It is small, because VS Code asks before it opens
 * large files.
 */
function pseudoSize({ text, changeMarks }: DiffText): number {
  return parseInt(createHash("sha256").update(`${changeMarks}\n${text}`).digest("hex").slice(0, 5), 16);
}

function documentAt(uri: vscode.Uri): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
}

/** Whether VS Code may read UTF-8 as another encoding. A byte order mark prevents this. */
function needsByteOrderMark(uri: vscode.Uri): boolean {
  const files = vscode.workspace.getConfiguration("files", uri);
  return files.get("encoding") !== "utf8" || files.get("autoGuessEncoding") === true;
}

/** Returns an error for the user. VS Code shows its name before the text. */
function userError(text: string): Error {
  return Object.assign(new Error(text), { name: "Fairlead" });
}
