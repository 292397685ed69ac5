// The prompts of tool servers, which the user chooses as `/server:prompt` with values for their arguments. Pure.

import { lineText } from "../ui/shownText";
import type { ServerPromptParams } from "../wire/protocol";
import type { ServerOffer, ServerPrompt } from "../wire/protocolStates";

/** A prompt with its values. */
export type ChosenPrompt = Omit<ServerPromptParams, "sessionId">;

/** What a text that begins with a prompt's command chooses. */
export interface TypedPrompt {
  /** The command without its `/`. */
  readonly command: string;
  /** The arguments as a hint: `<path> [style]`. */
  readonly hint: string;
  readonly chosen: ChosenPrompt;
  /** The required arguments that have no value. */
  readonly missing: readonly string[];
  /** Whether words follow that no argument takes. */
  readonly hasMore: boolean;
}

/** Returns the prompt that a text begins with; undefined if there is none. */
export function typedPrompt(text: string, offers: readonly ServerOffer[]): TypedPrompt | undefined {
  const typed = text.trim();
  const [found] = commandsOf(offers)
    .filter(({ command }) => typed === `/${command}` || /^\s/.test(afterPrefix(typed, `/${command}`)))
    .sort((a, b) => b.command.length - a.command.length);
  if (!found) return undefined;
  const { command, server, prompt } = found;
  const names = prompt.arguments.map(({ name }) => name);
  const values = splitValues(typed.slice(command.length + 1), names.length);
  const given = names.flatMap((name, index) => (values[index] === undefined ? [] : [[name, values[index]] as const]));
  return {
    command,
    hint: hintOf(prompt),
    chosen: { server, name: prompt.name, arguments: Object.fromEntries(given) },
    missing: prompt.arguments.slice(given.length).flatMap(({ name, isRequired }) => (isRequired ? [name] : [])),
    hasMore: values.length > names.length,
  };
}

/** Returns the completions of a command's beginning, without the `/`: of `server:prompt`, or of the prompt's name. */
export function promptCompletions(
  typed: string,
  offers: readonly ServerOffer[],
): { label: string; description: string; text: string }[] {
  return commandsOf(offers)
    .filter(({ command, prompt }) => [command, prompt.name].some((name) => name.startsWith(typed)))
    .map(({ command, prompt }) => {
      const hint = hintOf(prompt);
      return {
        label: [`/${command}`, hint].filter(Boolean).join(" "),
        description: lineText(prompt.description),
        text: hint === "" ? `/${command}` : `/${command} `,
      };
    });
}

const commandsOf = (offers: readonly ServerOffer[]): { command: string; server: string; prompt: ServerPrompt }[] =>
  offers.flatMap(({ server, prompts }) =>
    prompts.map((prompt) => ({ command: `${server}:${prompt.name}`, server, prompt })),
  );

/** Returns what follows the prefix of a text; empty if the text begins with something else. */
const afterPrefix = (text: string, prefix: string): string =>
  text.startsWith(prefix) ? text.slice(prefix.length) : "";

const hintOf = (prompt: ServerPrompt): string =>
  prompt.arguments.map(({ name, isRequired }) => (isRequired ? `<${name}>` : `[${name}]`)).join(" ");

/**
 * Returns at most `count` values, and one more if text is left that no value takes. White space separates them, except
 * within quotation marks. The last value is the rest of the text.
 */
function splitValues(text: string, count: number): string[] {
  const values: string[] = [];
  let rest = text.trim();
  while (rest !== "") {
    const isLast = values.length >= count - 1;
    const [whole, quoted, plain = ""] = (isLast ? /^(?:"([^"]*)"$|([^]+))/ : /^(?:"([^"]*)"(?!\S)|(\S+))/).exec(
      rest,
    ) ?? [rest];
    values.push(quoted ?? plain);
    rest = rest.slice(whole.length).trim();
  }
  return values;
}
