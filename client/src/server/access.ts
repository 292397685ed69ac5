// Whether access to a model is configured. Mirrors the server's rules: docs/protocol.md, Initialize. Pure.

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

/** Returns a message for the user if a typed base URL is invalid; undefined if it is an HTTP or HTTPS URL. */
export function urlProblem(text: string): string | undefined {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  return url && ["http:", "https:"].includes(url.protocol)
    ? undefined
    : t("Enter a URL such as http://localhost:11434.");
}
