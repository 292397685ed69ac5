// Models as text. Pure.

import { t } from "@vscode/l10n";
import type { Model } from "../wire/protocol";

const EFFORT_LABELS: Readonly<Record<string, string>> = {
  "": t("The model's default"),
  minimal: t("Minimal"),
  low: t("Low"),
  medium: t("Medium"),
  high: t("High"),
  xhigh: t("Extra High"),
  max: t("Maximum"),
};

export const effortLabel = (effort: string): string => EFFORT_LABELS[effort] ?? effort;

/** Returns a model's name for the user. llama.cpp names a model by the path of its file: then the file's name. */
export const modelName = (model: string): string => /^(?:\/|[A-Za-z]:\\).*[\\/](.+)$/.exec(model)?.[1] ?? model;

/** Returns the model and, unless it is the default, the effort: `NAME · High`. Empty if there is no model. */
export function modelLabel({ model, effort }: { readonly model: string; readonly effort: string }): string {
  const name = modelName(model);
  return effort === "" || name === "" ? name : `${name} · ${effortLabel(effort)}`;
}

/** Returns what is known about a model, such as `200k · $3 / $15`: its window, and its price per million tokens. */
export function modelFacts(model: Model, isLocal: boolean): string {
  const { contextTokens, inputPrice, outputPrice, tools } = model;
  const isPriced = inputPrice !== null && outputPrice !== null;
  const parts = [
    contextTokens === null ? "" : windowText(contextTokens),
    isPriced ? priceText(inputPrice, outputPrice) : "",
    isLocal ? t("local") : "",
    tools === false ? t("tools: no") : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

/** Returns the size of a window: `200k`, `32k` for 32,768, `1M`, `1.05M`. */
function windowText(tokens: number): string {
  const thousand = tokens % 1024 === 0 && tokens < 1_000_000 ? 1024 : 1000;
  if (tokens < 1000) return String(tokens);
  if (tokens < 1_000_000) return `${Math.round(tokens / thousand)}k`;
  return `${Number((tokens / 1_000_000).toFixed(2))}M`;
}

function priceText(input: number, output: number): string {
  const dollars = (price: number): string => `$${Number(price.toPrecision(3))}`;
  return input === 0 && output === 0 ? t("free") : `${dollars(input)} / ${dollars(output)}`;
}
