// The prompts of tasks that are started in an editor. Pure.

import { mergeRanges, type LineRange } from "../../context/lines";
import type { TerminalItem } from "../../wire/protocol";
import { visibleText } from "../../ui/shownText";

/** The maximum number of problems that a prompt lists. */
const MOST_PROBLEMS = 20;
/** The maximum length of a problem's message in a prompt, in characters. */
const MOST_CHARACTERS = 1000;

export interface Problem {
  /** From 0. */
  readonly line: number;
  readonly message: string;
  readonly source: string | undefined;
  readonly code: string | undefined;
}

/** Returns the lines in words for a prompt, which is always in English: `line 4`, `lines 4 to 6 and line 9`. */
export function linesText(ranges: readonly LineRange[]): string {
  const parts = mergeRanges(ranges).map(({ start, end }) =>
    start === end ? `line ${start + 1}` : `lines ${start + 1} to ${end + 1}`,
  );
  return parts.length < 2 ? parts.join() : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1) ?? ""}`;
}

/** Returns the problems that a task lists: the first `MOST_PROBLEMS` in the file, by line. */
export function problemsToFix<Found extends Problem>(problems: readonly Found[]): Found[] {
  return [...problems].sort((one, other) => one.line - other.line).slice(0, MOST_PROBLEMS);
}

/**
 * Returns the prompt that asks the agent to fix problems in a file. It lists the problems that `problemsToFix` returns,
 * and says how many more there are and up to which line.
 */
export function fixPrompt(path: string, problems: readonly Problem[]): string {
  const [first, ...following] = problemsToFix(problems);
  if (!first) return `Fix the problems in ${path}.`;
  if (following.length === 0) return `Fix this problem in ${path}, ${problemText(first)}`;
  const more = problems.length - following.length - 1;
  const last = Math.max(...problems.map(({ line }) => line)) + 1;
  const others = `${more} problem${more === 1 ? "" : "s"}`;
  const rest = more > 0 ? [`Also fix the ${others} after these, up to line ${last}.`] : [];
  return [
    `Fix these problems in ${path}:`,
    ...[first, ...following].map((each) => `- ${problemText(each)}`),
    ...rest,
  ].join("\n");
}

function problemText({ line, message, source, code }: Problem): string {
  const words = visibleText(message.trim().replace(/\s*[\r\n]\s*/g, " "));
  const shown = words.length > MOST_CHARACTERS ? `${words.slice(0, MOST_CHARACTERS)}…` : words;
  const from = [source, code].filter(Boolean).join(" ");
  return `line ${line + 1}: ${shown}${from ? ` [${from}]` : ""}`;
}

/** Returns the prompt that asks the agent to fix a command that failed in the user's terminal. */
export function fixCommandPrompt({ command, exitCode }: Pick<TerminalItem, "command" | "exitCode">): string {
  const line = visibleText(command.trim().replace(/\s*[\r\n]\s*/g, " ")).slice(0, MOST_CHARACTERS);
  return `This command failed in my terminal${exitCode === undefined ? "" : ` with exit code ${exitCode}`}. Fix the cause: ${line}`;
}

/** Returns the prompt that asks the agent to explain lines of a file or, if `symbol` is given, only that symbol. */
export function explainPrompt(path: string, ranges: readonly LineRange[], symbol: string | undefined): string {
  const where = `${path}, ${linesText(ranges)}`;
  return symbol === undefined ? `Explain the code in ${where}.` : `Explain \`${symbol}\` in ${where}.`;
}
