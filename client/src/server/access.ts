// Whether anything says how the agent reaches a model. Mirrors the server's order: docs/protocol.md, Initialize. Pure.

export interface AccessSettings {
  readonly provider: string;
  readonly baseUrl: string;
  readonly replay: string;
}

const VARIABLES = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"];

/** Whether a task can be tried with these settings, this environment and this key. */
export function hasAccess(
  settings: AccessSettings,
  environment: Readonly<Record<string, string | undefined>>,
  key: string | undefined,
): boolean {
  const { provider, baseUrl, replay } = settings;
  const given = [key, baseUrl, replay, ...VARIABLES.map((name) => environment[name])];
  return provider !== "anthropic" || given.some((value) => value !== undefined && value.trim() !== "");
}

/** What is wrong with a base URL that was typed; undefined if nothing is. */
export function urlProblem(text: string): string | undefined {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  return url && ["http:", "https:"].includes(url.protocol) ? undefined : "A base URL is like http://localhost:11434.";
}
