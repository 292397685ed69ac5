// The Sessions view: all sessions of this workspace with their state.

import { t } from "@vscode/l10n";
import { sessionNodes, type SessionNode } from "./sessionRows";
import type { Store } from "../../state/store";
import { openRequests } from "../../state/waiting";
import { showHeader, type TreeItem } from "../../ui/show";
import { rowItem, StoreTree } from "../../ui/tree";

const MINUTE = 60_000;

export class SessionsView extends StoreTree<SessionNode> {
  /** Updates the "5 min ago" of the rows. */
  private readonly clock = setInterval(() => {
    if (this.view.visible) this.scheduleUpdate();
  }, MINUTE);

  /** The session whose row was selected last because the other views show the session. */
  private selected: string | undefined;

  constructor(private readonly store: Store) {
    super("fairlead.sessions", store, (change) => ["list", "sessions", "approvals"].includes(change));
  }

  getTreeItem(node: SessionNode): TreeItem {
    const item = rowItem(node);
    item.id = node.sessionId;
    item.contextValue = `session ${node.phase}`;
    item.command = { command: "fairlead.showSession", title: t("Show"), arguments: [node] };
    return item;
  }

  /** Calls `change` with the row that has the keyboard focus. */
  async withFocused(change: (node: SessionNode) => Promise<void>): Promise<void> {
    const row = await this.focusedRow();
    if (row) await change(row);
  }

  protected keyOf(node: SessionNode): string {
    return node.sessionId;
  }

  /** VS Code requires it to select a row. */
  getParent(): undefined {
    return undefined;
  }

  protected override onShown(): void {
    this.selectShown();
  }

  /** Selects the row of the shown session after another one was shown, by whatever way. */
  private selectShown(): void {
    const row = this.rows(undefined).find(({ isShown }) => isShown);
    if (!row || row.sessionId === this.selected || !this.view.visible) return;
    const { sessionId } = row;
    this.selected = sessionId;
    void this.select(row, false, () => this.selected === sessionId);
  }

  override dispose(): void {
    clearInterval(this.clock);
    super.dispose();
  }

  protected rows(node: SessionNode | undefined): SessionNode[] {
    return node ? [] : sessionNodes(this.store.listed, this.store.active, Date.now());
  }

  protected updateHeader(): void {
    this.selectShown();
    const others = this.store.listed.filter((session) => session !== this.store.active && openRequests(session) > 0);
    const badge = { value: others.length, tooltip: t("Another session is waiting for you") };
    showHeader(this.view, { badge: others.length > 0 ? badge : undefined });
  }
}
