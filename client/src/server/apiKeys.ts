// The API keys in VS Code's secret storage, by the name of the endpoint.

import type { SecretStorage } from "vscode";

/** One secret with all keys as JSON, because not every VS Code can list its secrets. */
export const API_KEYS_SECRET = "fairlead.apiKeys";

export async function savedKeys(secrets: SecretStorage): Promise<Record<string, string>> {
  return JSON.parse((await secrets.get(API_KEYS_SECRET)) ?? "{}") as Record<string, string>;
}

/** Saves the key of an endpoint; undefined removes it. */
export async function saveKey(secrets: SecretStorage, endpoint: string, key: string | undefined): Promise<void> {
  // JSON has no undefined, so the removed key is not in it
  await secrets.store(API_KEYS_SECRET, JSON.stringify({ ...(await savedKeys(secrets)), [endpoint]: key }));
}
