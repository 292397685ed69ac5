// An error of a run, as the server sends it.

import type { RunError } from "../src/wire/protocol";

export const runError = (kind: string, more: Partial<RunError> = {}): RunError => {
  return { kind, message: "Why.", retryable: false, models: [], keyEndpoint: "", accountUrl: "", ...more };
};
