// Definitions of tool servers, as users type, paste and change them (docs/mcp.md). Pure.

import { t } from "@vscode/l10n";

/** A definition in the user's settings. The server checks it. */
export type Definition = Readonly<Record<string, unknown>>;
export type Definitions = Readonly<Record<string, Definition>>;

const MAX_NAME = 60;
const HTTP = ["http:", "https:"];

/** Returns what is wrong with a name; undefined if nothing is. `taken` are the names that there are. */
export function nameProblem(text: string, taken: readonly string[]): string | undefined {
  const name = text.trim();
  if (name === "") return t("Enter a name.");
  if (name.includes("__")) return t("Write the name without __, which separates it from the names of its tools.");
  if (name.length > MAX_NAME) return t("Enter a name of at most {0} characters.", MAX_NAME);
  return taken.includes(name) ? t("There is a tool server with this name already.") : undefined;
}

/** Returns the hosts in a text: `api.github.com, localhost:5432`. */
export const hostsIn = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** Returns what is wrong with a text of hosts; undefined if nothing is. */
export function hostsProblem(text: string): string | undefined {
  const wrong = hostsIn(text).find((host) => !/^([\w.-]+|\[[\da-f:]+\])(:\d{1,5})?$/i.test(host));
  return wrong === undefined
    ? undefined
    : t("{0} is not a host. Write hosts such as api.github.com or localhost:5432.", wrong);
}

/** Returns what is wrong with the address of a server; undefined if nothing is. */
export function addressProblem(text: string): string | undefined {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (!url || !HTTP.includes(url.protocol)) return t("Enter an address such as https://example.com/mcp.");
  return url.username || url.password ? t("Enter an address without a user name and a password.") : undefined;
}

/** What a pasted text defines: servers with names, or one server without a name. */
export type Pasted =
  | { readonly kind: "servers"; readonly servers: Definitions }
  | { readonly kind: "one"; readonly definition: Definition }
  | { readonly kind: "problem"; readonly problem: string };

/**
 * Reads a pasted text: `{"mcpServers": {...}}`, `{"servers": {...}}`, servers by name, or one definition. `taken` are the
 * names that there are.
 */
export function readPasted(text: string, taken: readonly string[]): Pasted {
  const wrong = (problem: string): Pasted => ({ kind: "problem", problem });
  let value: unknown;
  try {
    value = JSON.parse(withoutFence(text));
  } catch {
    return wrong(t("This is not JSON. Paste all of it, from the first { to the last }."));
  }
  const servers = serversIn(value);
  if (servers === undefined) return wrong(t("Paste an object with the “command” or the “url” of a tool server."));
  if (isDefinition(servers)) return withCheck(servers, { kind: "one", definition: servers });
  if (Object.keys(servers).length === 0) return wrong(t("It defines no tool server."));
  for (const [name, definition] of Object.entries(servers)) {
    const problem =
      nameProblem(name, taken) ?? (isDefinition(definition) ? undefined : t("It has neither a command nor a url."));
    if (problem !== undefined) return wrong(`${name}: ${problem}`);
    const checked = withCheck(definition as Definition, { kind: "servers", servers: {} });
    if (checked.kind === "problem") return wrong(`${name}: ${checked.problem}`);
  }
  return { kind: "servers", servers: servers as Definitions };
}

const isObject = (value: unknown): value is Definition =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isDefinition = (value: unknown): boolean =>
  isObject(value) && [value.command, value.url, value.serverUrl].some((each) => typeof each === "string");

/** The part of a pasted value that defines servers. */
function serversIn(value: unknown): Definition | undefined {
  if (!isObject(value)) return undefined;
  if (isDefinition(value)) return value;
  const inner = value.mcpServers ?? value.servers ?? value["fairlead.mcpServers"] ?? value.mcp;
  return inner === undefined ? value : serversIn(inner);
}

function withCheck(definition: Definition, pasted: Pasted): Pasted {
  if (definition.type === "sse")
    return { kind: "problem", problem: t("It has the type “sse”, which MCP has replaced. Look for its HTTP address.") };
  return pasted;
}

/** A text without the fence of a code block, and with braces if it is the inside of an object. */
function withoutFence(text: string): string {
  const inside = text
    .trim()
    .replace(/^```\w*|```$/g, "")
    .trim()
    .replace(/,$/, "");
  return inside.startsWith('"') ? `{${inside}}` : inside;
}

/** Returns the definitions with a tool of a server switched on or off. */
export function withTool(definitions: Definitions, server: string, tool: string, isOn: boolean): Definitions {
  const definition = definitions[server];
  if (definition === undefined) return definitions;
  const { disabledTools, ...rest } = definition;
  const off = new Set(Array.isArray(disabledTools) ? (disabledTools as unknown[]) : []);
  if (isOn) off.delete(tool);
  else off.add(tool);
  return { ...definitions, [server]: off.size === 0 ? rest : { ...rest, disabledTools: [...off] } };
}

/** Returns the definitions without a server. */
export const without = (definitions: Definitions, server: string): Definitions =>
  Object.fromEntries(Object.entries(definitions).filter(([name]) => name !== server));

/** Returns where the definition of a server begins in the text of a settings file or a `.mcp.json`, else 0. */
export function definitionOffset(text: string, server: string): number {
  const start = Math.max(
    0,
    ...["mcpServers", "servers"].map((name) => text.search(new RegExp(`"(fairlead\\.)?${name}"`))),
  );
  const name = JSON.stringify(server).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const found = text.slice(start).search(new RegExp(`${name}\\s*:\\s*\\{`));
  return found < 0 ? start : start + found;
}
