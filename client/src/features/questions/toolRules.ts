// Rules of the setting `tools.allow`, as the user types them (docs/mcp.md, What asks). Pure.

import { t } from "@vscode/l10n";
import type { ApproveParams } from "../../wire/protocol";

const RULE = /^(.+?)__([^()]+)(?:\((.*)\))?$/s;
const ARGUMENT = /^\s*[^=,()]+?\s*=.*$/s;

/** Returns what is wrong with a rule that should allow a call; undefined if it has the right form and fits the tool. */
export function toolRuleProblem(
  rule: string,
  { server, tool }: Pick<ApproveParams, "server" | "tool">,
): string | undefined {
  const [, ruleServer = "", ruleTool = "", given] = RULE.exec(rule.trim()) ?? [];
  const parts = given ? given.split(", ") : [];
  if (ruleServer.trim() === "" || ruleTool.trim() === "" || !parts.every((part) => ARGUMENT.test(part)))
    return t("Write server__tool, with * for any characters, or server__tool(argument=pattern).");
  if (fits(ruleServer.trim(), server ?? "") && fits(ruleTool.trim(), tool ?? "")) return undefined;
  return t("This rule does not match {0} of {1}.", tool ?? "", server ?? "");
}

function fits(pattern: string, text: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(text);
}
