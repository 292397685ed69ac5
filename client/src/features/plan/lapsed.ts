// Which verifications of an earlier window no longer hold. Pure.

import { t } from "@vscode/l10n";
import { countText } from "../../ui/format";
import { plainLine } from "../../ui/text";
import type { Plan, PlanItem, VerificationStatus } from "../../wire/protocolStates";

/** The states of completed steps that a command has verified at some time. */
const TICKED: readonly VerificationStatus[] = ["verified", "proved", "stale", "failed"];
const MAX_NAMED = 3;

/** Returns the sentence for the user; empty if all hold. `relative` converts a URI to a path for display. */
export function lapsedText(plan: Plan | undefined, relative: (uri: string) => string): string {
  const lapsed = plan?.items.filter(({ id }) => plan.lapsed.includes(id)) ?? [];
  if (!plan || lapsed.length === 0) return "";
  const ticks = plan.items.filter(({ verification }) => TICKED.includes(verification)).length;
  const named = lapsed.slice(0, MAX_NAMED).map((item) => t("{0} ({1})", plainLine(item.content), why(item, relative)));
  const more = lapsed.length - named.length;
  const names = [...named, ...(more > 0 ? [t("{0} more", more)] : [])].join(", ");
  return t("No longer verified ({0} of {1}): {2}", lapsed.length, countText(ticks, "step"), names);
}

function why(
  { verification, changedSince: [first = "", ...others] }: PlanItem,
  relative: (uri: string) => string,
): string {
  if (verification === "failed") return t("its check fails now");
  const file = relative(first);
  return others.length > 0 ? t("{0} and {1} changed", file, countText(others.length, "file")) : t("{0} changed", file);
}
