// The proxy of VS Code's settings, for the programs that the extension starts. Pure.

/** VS Code's own settings, as in `http.proxy`. The user may give them values of any type. */
export interface ProxySettings {
  readonly proxy: unknown;
  readonly proxySupport: unknown;
  readonly noProxy: unknown;
  /** Whether the settings come from a machine other than the one on which the programs run. */
  readonly isFromElsewhere: boolean;
}

const LOCAL = ["localhost", "127.0.0.1", "::1"];

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the variables that add the proxy to an environment. A variable that is set there wins, so it is not returned.
 *
 * Returns no variables if `http.proxySupport` is off, if the proxy is on another machine's `localhost`, or if it is not
 * an HTTP proxy: the server and pip cannot use any other kind.
 */
export function proxyVariables(settings: ProxySettings, environment: Environment): Record<string, string> {
  const proxy = typeof settings.proxy === "string" ? settings.proxy.trim() : "";
  const noProxy: readonly unknown[] = Array.isArray(settings.noProxy) ? settings.noProxy : [];
  if (settings.proxySupport === "off" || !/^https?:\/\//i.test(proxy) || !URL.canParse(proxy)) return {};
  const { hostname } = new URL(proxy);
  if (settings.isFromElsewhere && /^(localhost|127\..*|\[::1\])$/.test(hostname)) return {};
  const isSet = (name: string): boolean =>
    [name, name.toUpperCase()].some((each) => (environment[each] ?? "").trim() !== "");
  // lower case, because some programs ignore HTTP_PROXY
  const names = ["http_proxy", "https_proxy"].filter((name) => !isSet(name) && !isSet("all_proxy"));
  const variables = Object.fromEntries(names.map((name) => [name, proxy]));
  // only with a proxy: alone, no_proxy would make Python ignore the proxy of the system
  if (names.length > 0 && !isSet("no_proxy")) variables.no_proxy = [...LOCAL, ...noProxy].join(",");
  return variables;
}
