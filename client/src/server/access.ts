// Whether access to a model is configured, by the server's rules (docs/protocol.md, Initialize), and the settings that
// configure it. Pure.

import { t } from "@vscode/l10n";

export const DEFAULT_ENDPOINT = "anthropic";
/** The endpoints with a sign-in instead of a key, and with packages of their own. */
export const CLOUDS: readonly string[] = ["bedrock", "vertex"];

export interface AccessSettings {
  readonly endpoint: string;
  readonly baseUrl: string;
  readonly replay: string;
}

const VARIABLES = [
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "ANTHROPIC_BASE_URL",
  "OPENAI_API_KEY",
  "OPENAI_BASE_URL",
];

/**
 * Whether settings, environment variables or the saved key give access to a model. An endpoint that the settings name
 * always counts: its credentials are not checked.
 */
export function hasAccess(
  settings: AccessSettings,
  environment: Readonly<Record<string, string | undefined>>,
  key: string | undefined,
): boolean {
  const { endpoint, baseUrl, replay } = settings;
  const given = [key, baseUrl, replay, ...VARIABLES.map((name) => environment[name])];
  const isNamed = endpoint !== "" && endpoint !== DEFAULT_ENDPOINT;
  return isNamed || given.some((value) => value !== undefined && value.trim() !== "");
}

/** The extra of the server's package that has the SDK of OpenAI. */
const OPENAI_EXTRA = "openai";

/**
 * Returns the extra that the endpoint needs, by the server's rules; undefined: none. A server at a base URL may turn out
 * to need none.
 */
export function extraFor(
  { endpoint, baseUrl }: Pick<AccessSettings, "endpoint" | "baseUrl">,
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (CLOUDS.includes(endpoint)) return endpoint;
  if (endpoint !== "" || baseUrl !== "") return endpoint === DEFAULT_ENDPOINT ? undefined : OPENAI_EXTRA;
  const first = VARIABLES.find((name) => (environment[name] ?? "") !== "");
  return first?.startsWith("OPENAI_") ? OPENAI_EXTRA : undefined;
}

/** The access that the user chose. What is left out gets its default. */
export interface AccessChoice {
  /** Without it, the base URL decides. */
  readonly endpoint?: string;
  readonly baseUrl?: string;
  readonly model?: string;
}

/** The settings that decide which model answers. A setting that is undefined gets its default. */
export type ModelSettings = Readonly<Record<"endpoint" | "baseUrl" | "model", string | undefined>>;

/**
 * Returns the settings for a choice of access. `current` are the settings until now.
 *
 * Resets the settings of an earlier choice, because the key must not go to another server, and another endpoint has
 * other models. If the same endpoint is chosen again, the model stays, and a cloud's base URL too: it is the cloud's
 * gateway.
 */
export function settingsFor(
  choice: AccessChoice,
  current: Readonly<Record<"endpoint" | "baseUrl" | "model", string>>,
): ModelSettings {
  const named = (endpoint = ""): string => (endpoint === DEFAULT_ENDPOINT ? "" : endpoint);
  const isCloud = CLOUDS.includes(choice.endpoint ?? "");
  const isSame = choice.baseUrl === undefined && named(choice.endpoint) === named(current.endpoint);
  const keepsModel = isSame && (isCloud || current.baseUrl === "");
  return {
    endpoint: named(choice.endpoint) || undefined,
    baseUrl: (choice.baseUrl ?? (isSame && isCloud ? current.baseUrl : "")) || undefined,
    model: (choice.model ?? (keepsModel ? current.model : "")) || undefined,
  };
}

/** Returns the base URL that a user means. A host with a port, such as `localhost:11434`, is meant with `http://`. */
export function typedUrl(text: string): string {
  const typed = text.trim();
  return /^[\w.-]+:\d+(\/|$)/.test(typed) ? `http://${typed}` : typed;
}

/** Returns a message for the user if a typed base URL is invalid; undefined if it is an HTTP or HTTPS URL. */
export function urlProblem(text: string): string | undefined {
  const typed = typedUrl(text);
  const url = URL.canParse(typed) ? new URL(typed) : undefined;
  return url && ["http:", "https:"].includes(url.protocol)
    ? undefined
    : t("Enter a URL such as http://localhost:11434.");
}
