// Whether access to a model is configured, by the server's rules (docs/protocol.md, Initialize), and the settings that
// configure it. Pure.

import { t } from "@vscode/l10n";

export interface AccessSettings {
  readonly provider: string;
  readonly baseUrl: string;
  readonly replay: string;
}

const VARIABLES = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"];

/**
 * Whether settings, environment variables or the saved key give access to a model. A cloud as the provider always
 * counts: its credentials are not checked.
 */
export function hasAccess(
  settings: AccessSettings,
  environment: Readonly<Record<string, string | undefined>>,
  key: string | undefined,
): boolean {
  const { provider, baseUrl, replay } = settings;
  const given = [key, baseUrl, replay, ...VARIABLES.map((name) => environment[name])];
  return provider !== "anthropic" || given.some((value) => value !== undefined && value.trim() !== "");
}

/** A kind of access that the user chose, with what they entered. */
export type AccessChoice =
  | { readonly kind: "key" }
  | { readonly kind: "server"; readonly baseUrl: string; readonly model: string }
  | { readonly kind: "cloud"; readonly provider: string; readonly model: string };

/**
 * Returns the settings to change for a choice of access; a setting that is undefined gets its default.
 *
 * Resets the settings of an earlier choice, because the key must not go to another server, and a cloud and a local
 * server have different models. The base URL stays only if the same cloud is chosen again: it is the cloud's gateway.
 */
export function settingsFor(
  choice: AccessChoice,
  { provider, baseUrl }: Pick<AccessSettings, "provider" | "baseUrl">,
): Record<string, string | undefined> {
  switch (choice.kind) {
    case "key":
      return provider === "anthropic" && baseUrl === ""
        ? {}
        : { provider: undefined, baseUrl: undefined, model: undefined };
    case "server":
      return { provider: undefined, baseUrl: choice.baseUrl, model: choice.model };
    case "cloud":
      return {
        provider: choice.provider,
        model: choice.model,
        ...(choice.provider === provider ? {} : { baseUrl: undefined }),
      };
  }
}

/** Returns a message for the user if a typed base URL is invalid; undefined if it is an HTTP or HTTPS URL. */
export function urlProblem(text: string): string | undefined {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  return url && ["http:", "https:"].includes(url.protocol)
    ? undefined
    : t("Enter a URL such as http://localhost:11434.");
}
