// What does a task, and what it may do. Pure.

import { t } from "@vscode/l10n";
import type { Mode } from "../wire/protocol";

/** A mode, or `agent:` and the name of an agent that a file describes. */
export type TaskMode = Mode | `agent:${string}`;

const PREFIX = "agent:";

const NAMES: Readonly<Record<Mode, string>> = { agent: t("Agent"), plan: t("Plan"), ask: t("Ask") };

/** What the user calls a mode: of an agent in a file, its name. */
export const modeName = (mode: TaskMode): string => (isOfFile(mode) ? mode.slice(PREFIX.length) : NAMES[mode]);

/** The params of `agent/runTask` for it. */
export function modeParams(mode: TaskMode): { mode: Mode; agent?: string } {
  return isOfFile(mode) ? { mode: "agent", agent: mode.slice(PREFIX.length) } : { mode };
}

/** The mode of an agent in a file. */
export const modeOfAgent = (name: string): TaskMode => `${PREFIX}${name}` as const;

/** Whether a mode is that of an agent in a file. */
export const isOfFile = (mode: string): mode is `agent:${string}` => mode.startsWith(PREFIX);

/**
 * The hosted agent that does a task in a mode, if `chosen` is the one of its session; empty: Fairlead's own agent, which
 * alone has modes. `mode` is null for a task in the mode of the last run.
 */
export const hostedFor = (mode: TaskMode | null, chosen: string | undefined): string | undefined =>
  mode === "agent" || mode === null ? chosen : "";
