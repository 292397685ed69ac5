// An error of a run, as the server sends it.

import type { RunError } from "../src/wire/protocol";

export const runError = (kind: string, more: Partial<RunError> = {}): RunError => {
  const message = more.message ?? "Why.";
  const texts = [{ prefix: message, template: "", arguments: [] }];
  const rest = { retryable: false, models: [], keyEndpoint: "", accountUrl: "" };
  return { kind, message, texts, ...rest, ...more };
};
