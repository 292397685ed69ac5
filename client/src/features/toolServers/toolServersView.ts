// The Tool Servers view: the servers of the shown session, with their tools.

import * as vscode from "vscode";
import { serverNodes, tokensOf, tokensText, toolNodes, type ToolNode, type ToolServerNode } from "./serverRows";
import type { Store } from "../../state/store";
import { relative } from "../../ui/folders";
import { showHeader, type TreeItem } from "../../ui/show";
import { rowItem, StoreTree } from "../../ui/tree";

const { None, Collapsed } = vscode.TreeItemCollapsibleState;
const { Checked, Unchecked } = vscode.TreeItemCheckboxState;

export class ToolServersView extends StoreTree<ToolServerNode> {
  private readonly subscriptions: vscode.Disposable;

  /** `list` makes the server send its list again; `switchTool` switches a tool on or off. */
  constructor(
    private readonly store: Store,
    private readonly list: () => unknown,
    switchTool: (node: ToolNode, isOn: boolean) => Promise<void>,
  ) {
    super("fairlead.toolServers", store, (change) => ["sessions", "approvals"].includes(change));
    const unsubscribe = store.toolServers.onChange(() => {
      this.scheduleUpdate();
    });
    this.subscriptions = vscode.Disposable.from(
      { dispose: unsubscribe },
      this.view.onDidChangeCheckboxState(async ({ items }) => {
        for (const [node, state] of items) if (node.kind === "tool") await switchTool(node, state === Checked);
      }),
    );
  }

  get isVisible(): boolean {
    return this.view.visible;
  }

  getTreeItem(node: ToolServerNode): TreeItem {
    const item = rowItem(node, node.kind === "server" && node.server.tools.length > 0 ? Collapsed : None);
    item.id = this.keyOf(node);
    if (node.kind === "tool") {
      item.contextValue = "tool";
      if (node.canSwitch) item.checkboxState = node.tool.isEnabled ? Checked : Unchecked;
    } else {
      const { definedIn, state, hasInputs } = node.server;
      const mark = state === "disabled" ? "off" : (state === "signIn" || hasInputs) && "signIn";
      item.contextValue = ["toolServer", definedIn === null && "own", mark].filter(Boolean).join(" ");
    }
    return item;
  }

  protected keyOf(node: ToolServerNode): string {
    return node.kind === "server" ? node.server.name : `${node.serverName}__${node.tool.name}`;
  }

  protected override onShown(): void {
    this.list();
  }

  protected rows(node: ToolServerNode | undefined): ToolServerNode[] {
    if (node) return node.kind === "server" ? toolNodes(node) : [];
    const { active, toolServers } = this.store;
    const asked = new Set(
      active?.approvals.filter(({ kind }) => kind !== "tool" && kind !== "web").map(({ server }) => server),
    );
    return serverNodes(toolServers.of(active?.id) ?? [], relative, asked);
  }

  protected updateHeader(): void {
    const servers = this.store.toolServers.of(this.store.active?.id) ?? [];
    showHeader(this.view, { description: tokensText(tokensOf(servers)) });
  }

  override dispose(): void {
    this.subscriptions.dispose();
    super.dispose();
  }
}
