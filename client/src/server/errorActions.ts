// What the user can do about a failure of the model, from what the server says about it. Pure.

import { t } from "@vscode/l10n";
import type { RunError } from "../wire/protocol";
import { presetTitle, PRESETS } from "./modelRows";

export type ErrorAction =
  | { readonly kind: "useModel"; readonly model: string }
  /** Use the endpoint to which the key belongs. */
  | { readonly kind: "useKeyOf"; readonly endpoint: string }
  | { readonly kind: "openAccount"; readonly url: string }
  | { readonly kind: "setKey" | "chooseModel" | "setUpModel" | "proxySettings" | "cloudSettings" }
  /** For a hosted agent. */
  | { readonly kind: "signIn" | "chooseAgent" | "showLog" }
  /** Set up a model in place of a recording that has ended, or play the example again in another folder. */
  | { readonly kind: "setUpFirst" | "openExample" };

const PAGES: ReadonlySet<string | undefined> = new Set(Object.values(PRESETS).map(({ accountUrl }) => accountUrl));

/** Returns what may help, the best first. `usesKey`: whether the endpoint takes a key, as opposed to a sign-in. */
export function errorActions(error: RunError | null, usesKey: boolean): ErrorAction[] {
  const choose: ErrorAction = { kind: "chooseModel" };
  switch (error?.kind) {
    case "unknown_model":
      return [...error.models.map((model): ErrorAction => ({ kind: "useModel", model })), choose];
    case "auth": {
      const { keyEndpoint } = error;
      const other: ErrorAction[] = keyEndpoint in PRESETS ? [{ kind: "useKeyOf", endpoint: keyEndpoint }] : [];
      return usesKey ? [...other, { kind: "setKey" }, choose] : [];
    }
    case "billing":
      return [
        ...(PAGES.has(error.accountUrl) ? [{ kind: "openAccount", url: error.accountUrl } as const] : []),
        ...(usesKey ? [{ kind: "setKey" } as const] : []),
        choose,
      ];
    case "overloaded":
    case "rate_limit":
      return [choose];
    case "network":
      return [{ kind: "setUpModel" }];
    case "wrong_server":
      return [{ kind: "setUpModel" }, choose];
    case "proxy":
      return [{ kind: "proxySettings" }, { kind: "setUpModel" }];
    case "invalid_request":
      return usesKey ? [choose] : [{ kind: "cloudSettings" }, choose];
    case "hosted_sign_in":
      return [{ kind: "signIn" }, { kind: "chooseAgent" }];
    case "hosted_agent":
      return [{ kind: "chooseAgent" }, { kind: "showLog" }];
    case "replay_ended":
      return [{ kind: "setUpFirst" }, { kind: "openExample" }];
    case "region":
    case "no_tools":
    case "no_images":
    case "no_thinking":
      return [choose];
    default:
      return [];
  }
}

/** Returns what to do about the cause, after which the run can be tried again; undefined if only the user knows. */
export function remedy(error: RunError | null, usesKey: boolean): ErrorAction | undefined {
  const [first] = errorActions(error, usesKey);
  return first && ["useModel", "useKeyOf", "setKey", "signIn", "setUpFirst"].includes(first.kind) ? first : undefined;
}

export function actionLabel(action: ErrorAction): string {
  switch (action.kind) {
    case "useModel":
      return t("Use {0}", action.model);
    case "useKeyOf":
      return t("Use {0}", presetTitle(action.endpoint));
    case "openAccount":
      return t("Add Credit");
    case "setKey":
      return t("Set API Key");
    case "chooseModel":
      return t("Choose Model");
    case "setUpModel":
      return t("Change Server");
    case "signIn":
      return t("Sign In");
    case "chooseAgent":
      return t("Choose Agent");
    case "showLog":
      return t("Show Log");
    case "setUpFirst":
      return t("Set Up Model");
    case "openExample":
      return t("Try the Example");
    case "proxySettings":
      return t("Proxy Settings");
    case "cloudSettings":
      return t("Cloud Settings");
  }
}
