// Rules of the setting `web.allow`, as the user types them (docs/web.md, What asks). Pure.

import { t } from "@vscode/l10n";

const RULE = /^(\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$/;
const PORT = /:[0-9]{1,5}$/;

/**
 * Returns what is wrong with a rule that should allow a host; undefined if it has the right form and fits. The host is in
 * lower case, with its port if that is unusual.
 */
export function hostRuleProblem(rule: string, name: string): string | undefined {
  const [, ruleHost = "", rulePort = ""] = RULE.exec(rule.trim().toLowerCase()) ?? [];
  if (ruleHost === "")
    return t("Write a host such as example.com, *.example.com for its sub-domains, or localhost:3000.");
  const port = PORT.exec(name)?.[0] ?? "";
  const host = name.slice(0, name.length - port.length);
  if (ruleHost === "*" && rulePort === "") return undefined;
  const fits = ruleHost === "*" || (ruleHost.startsWith("*.") ? host.endsWith(ruleHost.slice(1)) : host === ruleHost);
  return fits && port === rulePort ? undefined : t("This rule does not match {0}.", name);
}
