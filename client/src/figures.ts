// Figures for people: durations, tokens, cost. Pure.

import type { Evidence } from "./protocol";

/** `0.4 s`, `12 s`, `3 min 5 s`, `1 h 2 min`. */
export function duration(seconds: number): string {
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** What a step took, without what is nothing. */
export function spent({ seconds, tokens, costUsd }: Evidence): string {
  const parts = [
    seconds > 0 ? duration(seconds) : "",
    tokens > 0 ? `${tokens.toLocaleString("en")} tokens` : "",
    costUsd === null || costUsd === 0 ? "" : `$${costUsd.toFixed(costUsd < 0.1 ? 4 : 2)}`,
  ];
  return parts.filter(Boolean).join(" · ");
}

export const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;
