// Command lines of tool servers: split as a shell does, and the name that a server gets from one. Pure.

import { t } from "@vscode/l10n";

/** The words of a command line, and the variables before them; or what is wrong with it. */
export type CommandLine =
  | { readonly words: readonly string[]; readonly variables: Readonly<Record<string, string>> }
  | { readonly problem: string };

/** Splits a command line as a shell does. What only a shell can do is a problem, because no shell runs the command. */
export function splitCommandLine(text: string): CommandLine {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index);
    const next = text.charAt(index + 1);
    if (quote === "" && /\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    word ??= "";
    if (character === quote) quote = "";
    else if (quote === "'") word += character;
    else if (quote === "" && /['"]/.test(character)) quote = character;
    else if (character === "\\" && next !== "" && (quote === "" || /["\\$`]/.test(next))) word += text.charAt(++index);
    else if (quote === "" && /[|&;<>`]/.test(character)) return { problem: shellNeeded(character) };
    else {
      const variable = /^\$([A-Za-z_]\w*)/.exec(text.slice(index));
      if (variable) return { problem: t("Write {0} instead of {1}.", `\${env:${variable[1] ?? ""}}`, variable[0]) };
      word += character;
    }
  }
  if (quote !== "") return { problem: t("The quote {0} is not closed.", quote) };
  if (word !== undefined) words.push(word);
  return withVariables(words);
}

const shellNeeded = (character: string): string =>
  t("{0} needs a shell, and none runs the command. Write it in quotes, or start sh -c “...”.", character);

function withVariables(words: readonly string[]): CommandLine {
  const first = words.findIndex((each) => !/^[A-Za-z_]\w*=/.test(each));
  if (first < 0) return { problem: t("Enter a command, such as npx -y @modelcontextprotocol/server-memory.") };
  const assignments = words.slice(0, first).map((each) => [each.split("=", 1)[0] ?? "", each.replace(/^\w+=/, "")]);
  return {
    words: words.slice(first).map((each) => (each.startsWith("~/") ? `\${userHome}${each.slice(1)}` : each)),
    variables: Object.fromEntries(assignments) as Record<string, string>,
  };
}

/** The programs that run a package, a module or an image that a later word names. */
const RUNNERS = new Set(
  "npx bunx pnpm yarn bun deno node uvx uv pipx python python3 py docker podman nerdctl".split(" "),
);
/** Programs that run a container, outside of the sandbox. */
export const CONTAINERS: readonly string[] = ["docker", "podman", "nerdctl"];
const SUBCOMMANDS = new Set("run dlx exec x tool -m".split(" "));
/** Options of the runners that the next word belongs to. */
const WITH_VALUE = new Set(
  "-e --env -v --volume --mount --name -p --publish --network --from --with --package -w -u".split(" "),
);
const GENERIC = new Set("index main server dist build src lib bin mcp start cli app".split(" "));

/** The name of the program, without its folder and its ending. */
export const programOf = (words: readonly string[]): string =>
  (words[0] ?? "").replace(/^.*[\\/]/, "").replace(/\.(exe|cmd|bat|sh)$/i, "");

/** Returns a name for a server: `filesystem` for `npx -y @modelcontextprotocol/server-filesystem`. */
export function suggestedName(words: readonly string[]): string {
  const program = programOf(words);
  let named = words[0] ?? "";
  if (RUNNERS.has(program)) {
    for (let index = 1; index < words.length; index++) {
      const word = words[index] ?? "";
      if (WITH_VALUE.has(word)) index++;
      else if (!word.startsWith("-") && !SUBCOMMANDS.has(word)) {
        named = word;
        break;
      }
    }
  }
  return shortName(named) || program || "server";
}

/** The last part of a package, an image or a path that says what it is. */
function shortName(text: string): string {
  const parts = text
    .replace(/(?<=.)[@:][\w.-]*$/, "") // the version, not the scope
    .replace(/\.(js|mjs|cjs|ts|py|exe|cmd|bat|sh)$/i, "")
    .split(/[\\/]/)
    .filter(Boolean);
  for (const part of parts.reverse()) {
    const name = part
      .replace(/^@/, "")
      .replaceAll("_", "-")
      .replace(/^(mcp-server|server|mcp)-|-(mcp-server|server-mcp|mcp|server)$/gi, "");
    if (name !== "" && !GENERIC.has(name.toLowerCase())) return name;
  }
  return "";
}

/** Returns a name for a server at an address: `notion` for `https://mcp.notion.com/mcp`. */
export function nameOfAddress(address: string): string {
  const { hostname } = new URL(address.trim());
  const labels = hostname.split(".");
  const isNamed = labels.length > 1 && !/^[\d.]+$|^\[/.test(hostname);
  return (isNamed ? labels.at(-2) : hostname.replace(/[^\w-]+/g, "-")) ?? hostname;
}

/** Returns a name that is not taken: `name`, `name-2`, ... */
export function freeName(name: string, taken: readonly string[]): string {
  for (let count = 1; ; count++) {
    const free = count === 1 ? name : `${name}-${count}`;
    if (!taken.includes(free)) return free;
  }
}
