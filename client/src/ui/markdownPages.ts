// Read-only files that VS Code's Markdown preview shows. They are files of a file system, not documents of a content
// provider: after a window reload, VS Code starts the extension that provides a page's file system and waits for the
// file, but does not do so for a content provider.

import * as vscode from "vscode";
import { delayed } from "./throttle";
import { allTabs } from "./window";

/** How long to wait before a refresh is repeated: more than the 300 ms for which a preview delays a change. */
const REPEAT_DELAY_MS = 500;

export class MarkdownPages implements vscode.FileSystemProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;
  /**
   * The time of the last change of any page, in milliseconds since the epoch. Starts with the current time, so
   * that it is later than the time VS Code knows for a document that stayed open while the extension restarted.
   */
  private lastChange = Date.now();
  /**
   * The pages whose document was open when they last changed, by URI, and whether each is hidden now. A page is removed
   * when it is shown again after it was hidden, and when its tab or its document is closed.
   */
  private readonly announced = new Map<string, { uri: vscode.Uri; hidden: boolean }>();
  /** Whether VS Code was asked to show the pages again and has not opened a document since. */
  private isRefreshing = false;
  /**
   * Repeats a refresh. A preview drops a refresh while an earlier one is pending, for example because the preview was
   * just shown or its document was opened.
   */
  private readonly repeatRefresh = delayed(refreshPreviews, REPEAT_DELAY_MS);
  /** A separate timer, so that no other refresh shortens the wait after a document has opened. */
  private readonly repeatAfterOpening = delayed(refreshPreviews, REPEAT_DELAY_MS);
  /** The text that VS Code got when it last read each page, by URI. */
  private readonly lastRead = new Map<string, string>();
  private readonly disposables: { dispose(): unknown }[];

  /** `read` returns the current text of a page. It is called often, for `stat` too. */
  constructor(
    scheme: string,
    private readonly read: (uri: vscode.Uri) => Promise<string>,
  ) {
    this.disposables = [
      vscode.workspace.registerFileSystemProvider(scheme, this, { isCaseSensitive: true, isReadonly: true }),
      vscode.window.tabGroups.onDidChangeTabs(() => {
        this.refreshShownPages();
      }),
      vscode.workspace.onDidOpenTextDocument(({ uri }) => {
        if (uri.scheme !== scheme) return;
        void this.redrawIfOutdated(uri);
        if (this.isRefreshing) this.repeatAfterOpening.schedule();
        this.isRefreshing = false;
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        // if VS Code closes the document before it has read the change, the preview never shows the change
        if (this.announced.delete(uri.toString())) this.refresh();
      }),
      this.repeatRefresh,
      this.repeatAfterOpening,
      this.changed,
    ];
  }

  /** Draws a page again, if it is open. */
  redraw(uri: vscode.Uri): void {
    this.lastChange = Math.max(Date.now(), this.lastChange + 1);
    this.changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    if (tabsOf(uri).length === 0) return;
    // VS Code closes a page's document after three minutes, although the page stays open, and then does not update it
    if (isDocumentOpen(uri)) this.announced.set(uri.toString(), { uri, hidden: false });
    else this.refresh();
  }

  /**
   * Makes VS Code read and show the open pages again: at once, and again later in case a preview dropped the first
   * refresh.
   */
  private refresh(): void {
    this.isRefreshing = true;
    refreshPreviews();
    this.repeatRefresh.schedule();
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const size = Buffer.byteLength(await this.read(uri));
    return { type: vscode.FileType.File, ctime: 0, mtime: this.lastChange, size };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const text = await this.read(uri);
    this.lastRead.set(uri.toString(), text);
    return Buffer.from(text);
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  readDirectory(): never {
    throw vscode.FileSystemError.Unavailable();
  }

  createDirectory(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  writeFile(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  delete(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  rename(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /**
   * Draws a page again if its text changed while VS Code opened its document, because VS Code does not notice that
   * change.
   */
  private async redrawIfOutdated(uri: vscode.Uri): Promise<void> {
    if ((await this.read(uri)) !== this.lastRead.get(uri.toString())) this.redraw(uri);
  }

  /**
   * Refreshes pages that become visible, because VS Code shows them without the changes that happened while they were
   * hidden.
   */
  private refreshShownPages(): void {
    for (const [address, page] of this.announced) {
      const tabs = tabsOf(page.uri);
      const isShown = tabs.some(({ isActive }) => isActive);
      if (tabs.length === 0 || (isShown && page.hidden)) this.announced.delete(address);
      if (isShown && page.hidden) this.refresh();
      page.hidden = !isShown;
    }
  }
}

/** Opens the preview of a document, or brings it to the front. */
export async function showPreview(uri: vscode.Uri): Promise<void> {
  try {
    await vscode.commands.executeCommand("markdown.showPreview", uri);
  } catch {
    // the Markdown preview is an extension, which can be disabled
    await vscode.window.showTextDocument(uri, { preview: false });
  }
}

function refreshPreviews(): void {
  void vscode.commands.executeCommand("markdown.preview.refresh");
}

function isDocumentOpen(uri: vscode.Uri): boolean {
  return vscode.workspace.textDocuments.some((document) => document.uri.toString() === uri.toString());
}

/**
 * The tabs of a page. The API does not say which document a preview shows, but its title contains the file name. So
 * pages with the same file name, such as the histories of two sessions, count as the same page.
 */
function tabsOf(uri: vscode.Uri): vscode.Tab[] {
  const name = uri.path.slice(1);
  return allTabs().filter(
    ({ input, label }) =>
      input instanceof vscode.TabInputWebview && input.viewType.endsWith("markdown.preview") && label.includes(name),
  );
}
