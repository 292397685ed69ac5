// What the user can choose for the model and its effort. Pure.

import { t } from "@vscode/l10n";

export type ModelChoice =
  | { readonly kind: "heading"; readonly label: string }
  | {
      readonly kind: "setting";
      readonly name: "model" | "effort";
      readonly value: string;
      readonly label: string;
      readonly isCurrent: boolean;
    }
  | { readonly kind: "other" | "settings"; readonly label: string };

/** The values that package.json allows for the setting `effort`; empty: the model's default. */
const EFFORTS = ["", "low", "medium", "high", "xhigh", "max"];
const EFFORT_LABELS: Record<string, string> = {
  "": t("The model's default"),
  low: t("Low"),
  medium: t("Medium"),
  high: t("High"),
  xhigh: t("Extra High"),
  max: t("Maximum"),
};

const DEFAULT_MODEL = t("Default model");

/**
 * Returns the rows of the list. `known` are the models that were chosen before; "" is the endpoint's default. The
 * current values have a check mark.
 */
export function modelChoices(model: string, effort: string, known: readonly string[]): ModelChoice[] {
  const models = [...new Set([model, ...known, ""])];
  const efforts = [...new Set([...EFFORTS, effort])];
  const row = (name: "model" | "effort", value: string, label: string): ModelChoice => {
    return { kind: "setting", name, value, label, isCurrent: value === (name === "model" ? model : effort) };
  };
  return [
    { kind: "heading", label: t("Model") },
    ...models.map((name) => row("model", name, name === "" ? DEFAULT_MODEL : name)),
    { kind: "other", label: t("Other Model...") },
    { kind: "heading", label: t("Effort: how much the model thinks, if it supports this") },
    ...efforts.map((level) => row("effort", level, EFFORT_LABELS[level] ?? level)),
    { kind: "heading", label: "" },
    { kind: "settings", label: t("Model Settings") },
  ];
}

/** Returns the model and, unless it is the default, the effort: `NAME · High`. */
export function modelLabel(model: string, effort: string): string {
  const name = model === "" ? DEFAULT_MODEL : model;
  return effort === "" ? name : `${name} · ${EFFORT_LABELS[effort] ?? effort}`;
}

/** Returns the chosen models, the new one first, without the oldest if there are more than five. */
export function withChosen(chosen: string, earlier: readonly string[]): string[] {
  return [chosen, ...earlier.filter((name) => name !== chosen)].slice(0, 5);
}
