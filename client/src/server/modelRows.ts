// The rows of the model picker and of the set-up, from what the server lists. Pure.

import { t } from "@vscode/l10n";
import presets from "../../../server/fairlead/models/presets.json";
import type { Endpoint, Model, ModelsResult } from "../wire/protocol";
import type { ChosenModel } from "../wire/protocolStates";
import { oneOrMany } from "../ui/format";
import { effortLabel, modelFacts, modelName } from "../ui/modelTexts";

/** An endpoint that Fairlead knows, as the server's file describes it. */
export interface Preset {
  readonly title: string;
  readonly kind?: string;
  readonly baseUrl?: string;
  /** The default model. */
  readonly model?: string;
  /** How its keys begin, if those of no other endpoint begin so. */
  readonly keyPrefixes?: readonly string[];
  /** The page where the user adds credit. */
  readonly accountUrl?: string;
}

/** The endpoints that Fairlead knows. A part of the extension, so that they can be offered before the server starts. */
export const PRESETS: Readonly<Record<string, Preset>> = presets;

/** The endpoints whose servers run on this machine, at their usual ports. */
export const LOCAL_ENDPOINTS: readonly string[] = Object.keys(PRESETS).filter(
  (name) => PRESETS[name]?.kind === "local",
);

/** Returns the endpoint that Fairlead knows at the address's host and port; undefined if it knows none. */
export function presetAt(address: string): string | undefined {
  const hostOf = (url: string): string => new URL(url).host.replace(/^127\.0\.0\.1(?=:|$)/, "localhost");
  const found = Object.entries(PRESETS).find(
    ([, { baseUrl = "" }]) => URL.canParse(baseUrl) && hostOf(baseUrl) === hostOf(address),
  );
  return found?.[0];
}

/** Returns the endpoint that a key belongs to by its form; undefined if the form does not tell. */
export function endpointOfKey(key: string): string | undefined {
  const found = Object.entries(PRESETS).find(([, { keyPrefixes = [] }]) =>
    keyPrefixes.some((prefix) => key.startsWith(prefix)),
  );
  return found?.[0];
}

/** What most keys begin with, whoever has given them out. */
const KEY_PREFIX = /^(sk|pk|xai|key|api)[-_]/i;
/** A long text of letters and digits only, as other keys are. Long names of models have separators. */
const RANDOM_TEXT = /^[A-Za-z0-9]{32,}$/;

/** Returns a message for the user if the typed name of a model is rather an API key; undefined if it is not. */
export function modelNameProblem(text: string): string | undefined {
  const typed = text.trim();
  const isKey = endpointOfKey(typed) !== undefined || KEY_PREFIX.test(typed) || RANDOM_TEXT.test(typed);
  return isKey ? t("This looks like an API key, not like a model's name.") : undefined;
}

interface Heading {
  readonly kind: "heading";
  readonly label: string;
}

export interface ModelRow {
  readonly kind: "model";
  readonly endpoint: string;
  readonly model: string;
  /** The effort with which it is or was used; empty: its default. */
  readonly effort: string;
  /** The levels that it has; `[]`: none, or unknown. */
  readonly efforts: readonly string[];
  readonly isChosen: boolean;
  /** Whether it is among the recently used ones, in addition to its endpoint's. */
  readonly isRecent: boolean;
  readonly label: string;
  readonly description: string;
}

export type PickerRow =
  | Heading
  | ModelRow
  /** An endpoint that needs a key (`key`), or whose server could not be asked (`problem`). */
  | {
      readonly kind: "key" | "problem";
      readonly endpoint: string;
      readonly label: string;
      readonly description: string;
      /** The problem. */
      readonly detail?: string;
    }
  | {
      readonly kind: "endpoint" | "other" | "effort" | "settings";
      readonly label: string;
      readonly description: string;
    };

const MAX_RECENT = 5;
/** The values that package.json allows for the setting `effort`; empty: the model's default. */
const EFFORTS = ["", "low", "medium", "high", "xhigh", "max"];

/** The rows of the picker. `list` has what is known so far, before the server has answered. */
export function pickerRows({ endpoints, chosen, recent }: ModelsResult): PickerRow[] {
  const used = distinct([chosen, ...recent]).filter(({ model }) => model !== "");
  const groups = endpoints.filter(({ needsKey }) => !needsKey);
  const keyless = endpoints.filter(({ needsKey }) => needsKey);
  return [
    ...headed(
      t("Recently used"),
      used.slice(0, MAX_RECENT + 1).map((each) => usedRow(each, endpoints, chosen)),
    ),
    ...groups.flatMap((group) => headed<PickerRow>(group.title, [...problemRows(group), ...modelRows(group, chosen)])),
    ...headed(
      t("Add an API key"),
      keyless.map(({ name, title }): PickerRow => ({
        kind: "key",
        endpoint: name,
        label: title,
        description: t("Set Key..."),
      })),
    ),
    { kind: "heading", label: t("More") },
    { kind: "endpoint", label: t("Another Endpoint..."), description: t("a cloud, a local server or any address") },
    { kind: "other", label: t("Other Model..."), description: t("by its name") },
    { kind: "effort", label: t("Effort..."), description: effortLabel(chosen.effort) },
    { kind: "settings", label: t("Model Settings"), description: "" },
  ];
}

/** The models of an endpoint. */
export function modelRows({ name, local, models }: Endpoint, chosen: ChosenModel | undefined): ModelRow[] {
  return models.map((model) => {
    const isChosen = chosen?.endpoint === name && chosen.model === model.name;
    return {
      kind: "model",
      endpoint: name,
      model: model.name,
      effort: isChosen ? chosen.effort : "",
      efforts: model.efforts,
      isChosen,
      isRecent: false,
      label: modelName(model.name),
      description: modelFacts(model, local),
    };
  });
}

function usedRow(used: ChosenModel, endpoints: readonly Endpoint[], chosen: ChosenModel): ModelRow {
  const group = endpoints.find(({ name }) => name === used.endpoint);
  const model: Model | undefined = group?.models.find(({ name }) => name === used.model);
  const facts = group && model ? modelFacts(model, group.local) : "";
  return {
    kind: "model",
    ...used,
    efforts: model?.efforts ?? [],
    isChosen: used.endpoint === chosen.endpoint && used.model === chosen.model,
    isRecent: true,
    label: modelName(used.model),
    description: [group?.title ?? presetTitle(used.endpoint), facts].filter(Boolean).join(" · "),
  };
}

function problemRows({ name, problem }: Endpoint): PickerRow[] {
  if (problem === "") return [];
  return [
    { kind: "problem", endpoint: name, label: t("The models could not be listed"), description: "", detail: problem },
  ];
}

export const presetTitle = (name: string): string => PRESETS[name]?.title ?? name;

/** The levels of effort to choose from. If the model's are unknown, all levels that a setting can have. */
export function effortChoices(efforts: readonly string[], current: string): string[] {
  return [...new Set([...(efforts.length > 0 ? ["", ...efforts] : EFFORTS), current])];
}

export type AccessRow =
  | Heading
  | {
      /**
       * `found`: an endpoint with models that can be used as it is. `key`: a provider. `local`: a server on this
       * machine. `address`: any server. `azure` and `cloud`: need more than a key.
       */
      readonly kind: "found" | "key" | "local" | "address" | "azure" | "cloud";
      /** The name of the endpoint; empty if the user has yet to choose it. */
      readonly endpoint: string;
      readonly label: string;
      readonly description?: string;
      readonly detail?: string;
    };

const CLOUD_DETAILS: Readonly<Record<string, string>> = {
  bedrock: t("Uses your AWS profile, AWS_... variables or AWS_BEARER_TOKEN_BEDROCK."),
  vertex: t("Uses Google's application default credentials."),
};

/** The rows of the set-up. `endpoints` are those that the server lists; `[]` before it has answered. */
export function accessRows(endpoints: readonly Endpoint[]): AccessRow[] {
  const known = Object.entries(PRESETS).map(([name, preset]) => ({ name, ...preset }));
  const locals = known.filter(({ kind }) => kind === "local").map(({ title }) => title);
  return [
    ...headed(t("Ready to use"), usable(endpoints).map(foundRow)),
    ...headed(
      t("With an API key"),
      known
        .filter(({ kind }) => kind === undefined)
        .map(({ name, title, baseUrl }): AccessRow => {
          return { kind: baseUrl === undefined ? "azure" : "key", endpoint: name, label: title };
        }),
    ),
    { kind: "heading", label: t("With a server") },
    { kind: "local", endpoint: "", label: t("Local Server..."), description: locals.join(", ") },
    {
      kind: "address",
      endpoint: "",
      label: t("Another Address..."),
      description: t("any server with the Messages API, or an API like OpenAI's"),
    },
    ...headed(
      t("With a sign-in to a cloud"),
      known
        .filter(({ kind }) => kind === "cloud")
        .map(({ name, title }): AccessRow => {
          return { kind: "cloud", endpoint: name, label: title, detail: CLOUD_DETAILS[name] ?? "" };
        }),
    ),
  ];
}

/** The endpoints that answered with models and need no set-up: local servers at their ports, and the user's own. */
export function usable(endpoints: readonly Endpoint[]): Endpoint[] {
  return endpoints.filter(({ name, problem, needsKey, models }) => {
    const preset = PRESETS[name];
    return models.length > 0 && problem === "" && !needsKey && (preset === undefined || preset.kind === "local");
  });
}

function foundRow({ name, title, models }: Endpoint): AccessRow {
  const count = models.length;
  const description = oneOrMany(count, modelName(models[0]?.name ?? ""), t("{0} models", count));
  return { kind: "found", endpoint: name, label: title, description };
}

function headed<Row>(label: string, rows: readonly Row[]): (Row | Heading)[] {
  return rows.length === 0 ? [] : [{ kind: "heading", label }, ...rows];
}

function distinct(models: readonly ChosenModel[]): ChosenModel[] {
  const byName = new Map<string, ChosenModel>();
  for (const each of models) {
    const key = `${each.endpoint} ${each.model}`;
    if (!byName.has(key)) byName.set(key, each);
  }
  return [...byName.values()];
}
