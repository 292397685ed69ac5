// The rows of the Tool Servers view. Pure.

import { t } from "@vscode/l10n";
import { oneOrMany } from "../../ui/format";
import type { Appearance, Row } from "../../ui/row";
import { cut } from "../../ui/shownText";
import { capitalized } from "../../ui/text";
import type { ServerTool, ToolServer } from "../../wire/protocolStates";

export interface ServerNode extends Row {
  readonly kind: "server";
  readonly server: ToolServer;
}

export interface ToolNode extends Row {
  readonly kind: "tool";
  readonly serverName: string;
  readonly tool: ServerTool;
  /** Whether the user can switch it on and off. */
  readonly canSwitch: boolean;
}

export type ToolServerNode = ServerNode | ToolNode;

/** How much of a problem the description of a row shows, in characters. */
const MAX_PROBLEM = 80;

const APPEARANCES: Readonly<Record<string, Appearance>> = {
  running: { icon: "pass-filled", color: "charts.green", word: t("running") },
  stopped: { icon: "circle-outline", word: t("stopped") },
  starting: { icon: "sync~spin", color: "charts.blue", word: t("starting") },
  failed: { icon: "error", color: "charts.red", word: t("failed") },
  notAllowed: { icon: "circle-slash", color: "charts.yellow", word: t("not allowed") },
  signIn: { icon: "sign-in", color: "charts.yellow", word: t("sign in") },
  disabled: { icon: "circle-slash", word: t("switched off") },
};

const WAITING: Appearance = { icon: "question", color: "charts.yellow", word: t("waiting for you") };

/**
 * A row for each server, in the same order. `relative` converts a URI to a path for display; `asked` are the names of the
 * servers about which the user is being asked.
 */
export function serverNodes(
  servers: readonly ToolServer[],
  relative: (uri: string) => string,
  asked: ReadonlySet<string | null> = new Set(),
): ServerNode[] {
  return servers.map((server) => {
    const look = asked.has(server.name) ? WAITING : appearance(server);
    return serverNode(server, look, relative);
  });
}

/** How a server looks. A newer server of Fairlead may have more states. */
const appearance = ({ state, problem }: ToolServer): Appearance =>
  APPEARANCES[state] ?? { icon: "info", word: problem === "" ? state : cut(problem, MAX_PROBLEM) };

function serverNode(server: ToolServer, look: Appearance, relative: (uri: string) => string): ServerNode {
  const { name, problem, tools } = server;
  const shown =
    look === APPEARANCES.failed && problem !== "" ? `${look.word}: ${cut(problem, MAX_PROBLEM)}` : look.word;
  const count = tools.length === 0 ? "" : oneOrMany(tools.length, t("1 tool"), t("{0} tools", tools.length));
  const cost = tokensText(tokensOf([server]));
  const facts = [count, cost].filter(Boolean);
  return {
    kind: "server",
    server,
    label: name,
    description: [shown, ...facts].join(" · "),
    tooltip: [name, ...serverTooltip(server, look, relative)].join("\n"),
    icon: look.icon,
    color: look.color,
    screenReaderLabel: [name, shown, ...facts].join(", "),
  };
}

function serverTooltip(server: ToolServer, { word }: Appearance, relative: (uri: string) => string): string[] {
  const { state, problem, output, command, hosts, definedIn } = server;
  const isWaiting = state === "stopped" ? t("It starts when a task needs it.") : "";
  const parts = [
    problem === "" ? capitalized(word) : `${capitalized(word)}: ${problem}`,
    isWaiting,
    command,
    definedIn === null ? t("Defined in your settings") : t("Defined in {0}", relative(definedIn)),
    hosts.length > 0 ? t("It reaches {0}", hosts.join(", ")) : "",
    output.trim() === "" ? "" : `${t("Last output:")}\n${output.trim()}`,
  ];
  return parts.filter(Boolean);
}

/** A row for each tool of a server. */
export function toolNodes({ server }: ServerNode): ToolNode[] {
  const canSwitch = server.definedIn === null && server.state !== "disabled";
  return server.tools.map((tool) => {
    const label = tool.title || tool.name;
    const cost = tokensText(tool.tokens);
    const claim = claimOf(tool);
    const off = tool.isEnabled ? "" : t("switched off");
    return {
      kind: "tool",
      serverName: server.name,
      tool,
      canSwitch,
      label,
      description: [off, cost].filter(Boolean).join(" · "),
      tooltip: [tool.name, tool.description, claim, off && t("The agent does not get this tool.")]
        .filter(Boolean)
        .join("\n\n"),
      icon: tool.readsOnly ? "eye" : tool.isDestructive ? "warning" : "edit",
      color: undefined,
      screenReaderLabel: [label, off, cost, claim].filter(Boolean).join(", "),
    };
  });
}

function claimOf({ readsOnly, isDestructive }: ServerTool): string {
  if (readsOnly) return t("The server says that it only reads.");
  return isDestructive ? t("The server says that it may delete or overwrite something.") : "";
}

/** About how many tokens the tools that the agent gets take of each request. */
export const tokensOf = (servers: readonly ToolServer[]): number =>
  servers
    .flatMap(({ tools }) => tools)
    .filter(({ isEnabled }) => isEnabled)
    .reduce((total, { tokens }) => total + tokens, 0);

export const tokensText = (count: number): string => (count === 0 ? "" : t("{0} tokens", count.toLocaleString("en")));

/** The text that *Show Output* shows. */
export function outputText({ name, problem, output, state }: ToolServer): string {
  const word = APPEARANCES[state]?.word ?? state;
  const end = output.trim() === "" ? t("It has written nothing besides its messages.") : output.trim();
  return `${[`${name}: ${word}`, problem, end].filter(Boolean).join("\n\n")}\n`;
}
