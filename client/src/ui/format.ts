// Durations, token counts and costs as text. Pure.

import { t } from "@vscode/l10n";
import type { Usage, UsageEvent } from "../wire/protocol";
import type { Evidence, SessionRow } from "../wire/protocolStates";

/** Returns a duration as text: `0.4 s`, `12 s`, `3 min 5 s`, `1 h 2 min`. */
export function duration(seconds: number): string {
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/**
 * Returns what a step cost, such as `12 s · 3,400 tokens · $0.0213`. A cost of ten cents or more has two decimals.
 * Omits zero values and an unknown cost.
 */
export function costSummary({ seconds, tokens, costUsd }: Evidence): string {
  const parts = [
    seconds > 0 ? duration(seconds) : "",
    tokens > 0 ? t("{0} tokens", tokens.toLocaleString("en")) : "",
    costUsd === null || costUsd === 0 ? "" : `$${costUsd.toFixed(costUsd < 0.1 ? 4 : 2)}`,
  ];
  return parts.filter(Boolean).join(" · ");
}

/** Returns a count in a few characters: `850`, `34k`, `1.2M`. */
export function shortCount(count: number): string {
  if (count < 1000) return String(count);
  if (count < 999_500) return `${Math.round(count / 1000)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/**
 * Returns the cost and the tokens of a run so far, such as `$0.12 · 34k`. Omits the cost if the model's price is
 * unknown. Empty if the run has used no tokens.
 */
export function usageSummary(usage: Usage): string {
  const tokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens;
  return spentSummary({ tokens, costUsd: usage.costUsd });
}

/** As `usageSummary`, of any requests. */
export function spentSummary({ tokens, costUsd }: Pick<SessionRow, "tokens" | "costUsd">): string {
  if (tokens === 0) return "";
  return [costUsd === null ? "" : dollars(costUsd), shortCount(tokens)].filter(Boolean).join(" · ");
}

/** Returns a cost with two decimals, such as `$0.12`. A cost that would be `$0.00` is `<$0.01`. */
function dollars(cost: number): string {
  return cost > 0 && cost < 0.005 ? "<$0.01" : `$${cost.toFixed(2)}`;
}

/** Returns a sentence that says how full the model's context window is. */
export function contextUsage({ contextTokens, contextLimit }: UsageEvent): string {
  const taken = contextTokens.toLocaleString("en");
  if (contextLimit === null)
    return t("The conversation uses {0} tokens; the size of the model's context window is unknown.", taken);
  const percent = Math.round((contextTokens / contextLimit) * 100);
  return t("The conversation uses {0} tokens, {1}% of the model's context window.", taken, percent);
}

const COUNT_TEXTS = {
  call: (count: number) => oneOrMany(count, t("1 call"), t("{0} calls", count)),
  change: (count: number) => oneOrMany(count, t("1 change"), t("{0} changes", count)),
  command: (count: number) => oneOrMany(count, t("1 command"), t("{0} commands", count)),
  error: (count: number) => oneOrMany(count, t("1 error"), t("{0} errors", count)),
  file: (count: number) => oneOrMany(count, t("1 file"), t("{0} files", count)),
  subagent: (count: number) => oneOrMany(count, t("1 subagent"), t("{0} subagents", count)),
  newError: (count: number) => oneOrMany(count, t("1 new error"), t("{0} new errors", count)),
  session: (count: number) => oneOrMany(count, t("1 session"), t("{0} sessions", count)),
  line: (count: number) => oneOrMany(count, t("1 line"), t("{0} lines", count)),
  read: (count: number) => oneOrMany(count, t("1 read"), t("{0} reads", count)),
  step: (count: number) => oneOrMany(count, t("1 step"), t("{0} steps", count)),
};

/** Returns a count with its noun, such as `1 file` or `2 files`. */
export const countText = (count: number, noun: keyof typeof COUNT_TEXTS): string => COUNT_TEXTS[noun](count);

/**
 * Returns `one` if the count is 1, else `many`. Both are whole texts, because languages differ in word order and plural
 * forms.
 */
export const oneOrMany = (count: number, one: string, many: string): string => (count === 1 ? one : many);
