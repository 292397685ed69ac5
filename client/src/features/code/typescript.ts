// Asks VS Code's TypeScript support for the problems in a file. Unless asked, it checks only files in tabs, so it
// reports nothing about a file that was opened in the background. Does not import VS Code, so that tests need no
// editor.

import type { Diagnostic, Range } from "../../wire/protocolStates";

const LANGUAGES = ["typescript", "typescriptreact", "javascript", "javascriptreact"];
/** TypeScript's requests for the problems in a file. Together, their answers are what VS Code shows. */
const REQUESTS = ["syntacticDiagnosticsSync", "semanticDiagnosticsSync", "suggestionDiagnosticsSync"];
/** LSP's `DiagnosticSeverity` by TypeScript's category. */
const SEVERITIES: Readonly<Record<string, number>> = { error: 1, warning: 2, suggestion: 4 };

/** A position, which TypeScript counts from 1. */
interface Location {
  readonly line: number;
  readonly offset: number;
}

interface Problem {
  readonly start: Location;
  readonly end: Location;
  readonly text: string;
  readonly category: string;
  readonly source?: string;
}

/**
 * Returns the problems in an open document; none if TypeScript does not know its language or does not answer. `ask`
 * sends one request about the document to TypeScript.
 */
export async function typeScriptProblems(
  languageId: string,
  ask: (request: string) => PromiseLike<unknown>,
): Promise<Diagnostic[]> {
  if (!LANGUAGES.includes(languageId)) return [];
  try {
    const answers = await Promise.all(REQUESTS.map(ask));
    return answers.flatMap((answer) => ((answer as { body?: readonly Problem[] } | undefined)?.body ?? []).map(toWire));
  } catch {
    return []; // TypeScript's support is off, for example
  }
}

function toWire({ start, end, text, category, source }: Problem): Diagnostic {
  const at = ({ line, offset }: Location): Range["start"] => ({ line: line - 1, character: offset - 1 });
  const range = { start: at(start), end: at(end) };
  return { range, severity: SEVERITIES[category] ?? 1, message: text, source: source ?? "ts" };
}

/**
 * Returns the shown problems, then those of the others that are not among them. A problem is identified by its start
 * and its message.
 */
export function joined(shown: readonly Diagnostic[], others: readonly Diagnostic[]): Diagnostic[] {
  const key = ({ range, message }: Diagnostic): string => JSON.stringify([range.start, message]);
  const known = new Set(shown.map(key));
  return [...shown, ...others.filter((other) => !known.has(key(other)))];
}
