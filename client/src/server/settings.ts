// The settings in the shape that the server expects (docs/protocol.md). A setting that extends the agent's permissions
// has the scope "application" in package.json, so that a workspace cannot set it.

import * as vscode from "vscode";
import { proxyVariables } from "./proxy";
import { CLOUDS, DEFAULT_ENDPOINT, extraFor } from "./access";
import { PRESETS } from "./modelRows";
import { SERVER_SETTINGS } from "./settingNames";

/** Returns the server's settings. If the setting `replay` is empty, the server plays `recording` (empty: none). */
export function serverSettings(recording = ""): Record<string, unknown> {
  const configuration = vscode.workspace.getConfiguration("fairlead");
  const settings: Record<string, unknown> = {};
  for (const key of SERVER_SETTINGS) {
    const value: unknown = configuration.get(key);
    const [group, name] = key.split(".");
    if (name === undefined) settings[key] = value;
    else settings[group ?? ""] = { ...(settings[group ?? ""] as object | undefined), [name]: value };
  }
  if (settings.replay === "") settings.replay = recording;
  return settings;
}

export function savesAfterAccept(): boolean {
  return vscode.workspace.getConfiguration("fairlead").get("saveAfterAccept", true);
}

/** The endpoint that the settings name, else that of Anthropic. */
export function configuredEndpoint(): string {
  const endpoint = vscode.workspace.getConfiguration("fairlead").get<string>("endpoint", "");
  return endpoint === "" ? DEFAULT_ENDPOINT : endpoint;
}

/** The setting `fairlead.endpoints`: the user's own endpoints, and changes to those that Fairlead knows. */
export const ownEndpoints = (): Readonly<Record<string, { readonly title?: string; readonly baseUrl?: string }>> =>
  vscode.workspace.getConfiguration("fairlead").get("endpoints", {});

/** The name of an endpoint for the user: its title, else its address. */
export function endpointTitle(name: string): string {
  const own = ownEndpoints()[name];
  const settings = vscode.workspace.getConfiguration("fairlead");
  const baseUrl = settings.get<string>("baseUrl", "");
  // without a name, only the address says what is there
  if (name === DEFAULT_ENDPOINT && settings.get<string>("endpoint", "") === "" && baseUrl !== "") return baseUrl;
  return own?.title ?? PRESETS[name]?.title ?? own?.baseUrl ?? name;
}

/** The extra of the server's package that the model's endpoint needs, if any. */
export function configuredExtra(): string | undefined {
  const settings = vscode.workspace.getConfiguration("fairlead");
  return extraFor({ endpoint: settings.get("endpoint", ""), baseUrl: settings.get("baseUrl", "") }, process.env);
}

/** Whether the endpoint takes a key, as opposed to a sign-in. By default, the configured one. */
export const takesKey = (endpoint = configuredEndpoint()): boolean => !CLOUDS.includes(endpoint);

/** The configured Python interpreter, if any. */
export function configuredPython(): string | undefined {
  return configuredPath("python");
}

/** The configured folder with the wheels of the server's packages, if any. */
export function configuredWheels(): string | undefined {
  return configuredPath("wheels");
}

/**
 * The environment variables that pass VS Code's proxy to a program; none if there is no usable proxy, or if the
 * environment already sets them.
 */
export function configuredProxy(): Record<string, string> {
  const http = vscode.workspace.getConfiguration("http");
  const settings = {
    proxy: http.get("proxy"),
    proxySupport: http.get("proxySupport"),
    noProxy: http.get("noProxy"),
    // if VS Code runs in a browser, the user's settings are on the machine that runs the extension
    isFromElsewhere: vscode.env.remoteName !== undefined && vscode.env.uiKind === vscode.UIKind.Desktop,
  };
  return proxyVariables(settings, process.env);
}

function configuredPath(setting: string): string | undefined {
  const named = vscode.workspace.getConfiguration("fairlead").get(setting, "").trim();
  return named === "" ? undefined : named;
}
