// The texts of both sides of a diff, requested from the server again when the proposals change.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { AgentServer } from "../../server/server";
import { parseDiffUri, wireUri } from "./diffUris";
import { throttled } from "../../ui/throttle";
import { type Store } from "../../state/store";

const PROPOSAL_GONE = t(
  "This proposal is currently unavailable: the agent's server is not running, or the session was deleted.\nYour files are unchanged. A saved proposal appears again when the server has restarted.\n",
);

export interface DiffText {
  readonly text: string;
  /** Increases with each new text and each change mark, across all documents. */
  readonly revision: number;
  /** How often this text was marked as changed although it was not (`markChanged`). */
  readonly changeMarks: number;
  /**
   * The version of the edits that the text belongs to; undefined if the session's edits are unknown, for example
   * because the server ended.
   */
  readonly version: number | undefined;
}

export class DiffContents implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  /** Fires when a text that was read before has changed or is marked as changed. */
  readonly onDidChange = this.changed.event;
  private readonly texts = new Map<string, DiffText>();
  /** The sessions whose texts must be requested again. */
  private readonly stale = new Set<string>();
  private revisions = 0;
  private readonly refresh = throttled(() => void this.readStale());
  private readonly disposables: { dispose(): unknown }[];

  /** `restored` resolves when the sessions of an earlier window are loaded. */
  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    private readonly restored: Promise<unknown>,
  ) {
    const unsubscribe = store.onChange((change, session) => {
      if (change === "edits") this.refreshSoon(session.id);
    });
    this.disposables = [
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
      { dispose: unsubscribe },
      this.refresh,
      this.changed,
    ];
  }

  /** Returns the current text of a URI. Requests it if it was not read yet, or if the edits have changed since. */
  async read(uri: vscode.Uri): Promise<DiffText> {
    const cached = this.texts.get(uri.toString());
    return cached && cached.version === this.version(uri) ? cached : this.request(uri);
  }

  /** The text that was read last, if any. */
  known(uri: vscode.Uri): DiffText | undefined {
    return this.texts.get(uri.toString());
  }

  /** Sets the proposed text to the text that the user saved, and requests it again soon after. */
  set(uri: vscode.Uri, text: string): DiffText {
    const saved = this.save(uri, text, this.version(uri));
    // the server may have changed the saved text
    this.refreshSoon(uri.authority);
    return saved;
  }

  /**
   * Marks a text as changed although it is not, so that VS Code refuses the next save and offers to compare. Returns
   * undefined if the text was never read.
   */
  markChanged(uri: vscode.Uri): DiffText | undefined {
    const known = this.known(uri);
    if (!known) return undefined;
    const renewed: DiffText = { ...known, revision: ++this.revisions, changeMarks: known.changeMarks + 1 };
    this.texts.set(uri.toString(), renewed);
    this.changed.fire(uri);
    return renewed;
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  private refreshSoon(sessionId: string): void {
    this.stale.add(sessionId);
    this.refresh.schedule();
  }

  private async readStale(): Promise<void> {
    const sessions = new Set(this.stale);
    this.stale.clear();
    for (const { uri } of vscode.workspace.textDocuments) {
      if (parseDiffUri(uri) && sessions.has(uri.authority)) await this.request(uri).catch(() => undefined);
    }
  }

  private async request(uri: vscode.Uri): Promise<DiffText> {
    // VS Code shows the diffs of an earlier window before the server has restored its sessions
    if (this.version(uri) === undefined) await this.restored;
    const version = this.version(uri);
    if (version === undefined) return this.save(uri, PROPOSAL_GONE, undefined);
    try {
      const { text } = await this.server.request("workspace/textDocumentContent", { uri: wireUri(uri) });
      return this.save(uri, text, version);
    } catch (error) {
      if (this.version(uri) === undefined) return this.save(uri, PROPOSAL_GONE, undefined);
      throw error;
    }
  }

  private save(uri: vscode.Uri, text: string, version: number | undefined): DiffText {
    const before = this.known(uri);
    const isSame = before?.text === text;
    const saved: DiffText = isSame
      ? { ...before, version }
      : { text, version, revision: ++this.revisions, changeMarks: 0 };
    this.texts.set(uri.toString(), saved);
    if (before && !isSame) this.changed.fire(uri);
    return saved;
  }

  private version(uri: vscode.Uri): number | undefined {
    return this.store.get(uri.authority)?.edits?.version;
  }
}
