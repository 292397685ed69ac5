// The titles of the server's CodeLenses and code actions in the user's language. The server writes them in English, for
// every editor. Pure.

import { t } from "@vscode/l10n";

const TITLES: Record<string, string> = {
  Accept: t("Accept"),
  Reject: t("Reject"),
  Preview: t("Preview"),
  "Open Diff": t("Open Diff"),
  "Accept New File": t("Accept New File"),
  "Accept Deletion": t("Accept Deletion"),
  "Accept File": t("Accept File"),
  "Accept Proposed (Replace Mine)": t("Accept Proposed (Replace Mine)"),
  "Keep Mine": t("Keep Mine"),
  "Restore File with Changes": t("Restore File with Changes"),
  "Keep Deleted": t("Keep Deleted"),
  "Reject This Change": t("Reject This Change"),
};

const PATTERNS: readonly (readonly [RegExp, (...parts: string[]) => string])[] = [
  [/^Accept (\+\d+ −\d+)$/, (lines) => t("Accept {0}", lines)],
  [/^Accept Rename to (.+)$/, (path) => t("Accept Rename to {0}", path)],
  [/^Accept This Change \((.+)\)$/, (lines) => t("Accept This Change ({0})", lines)],
  [
    /^Accept the Change at Line (\d+) \((.+)\)$/,
    (line, lines) => t("Accept the Change at Line {0} ({1})", line, lines),
  ],
  [/^Reject the Change at Line (\d+)$/, (line) => t("Reject the Change at Line {0}", line)],
  [/^Accept Proposed at Line (\d+) \(Replace Mine\)$/, (line) => t("Accept Proposed at Line {0} (Replace Mine)", line)],
  [/^Keep Mine at Line (\d+)$/, (line) => t("Keep Mine at Line {0}", line)],
  [/^Accept All (\d+) Changes in This File$/, (count) => t("Accept All {0} Changes in This File", count)],
  [/^Reject All (\d+) Changes in This File$/, (count) => t("Reject All {0} Changes in This File", count)],
];
/**
 * What precedes some titles in the user's own file, such as `Fairlead: `. It includes the session's name if several
 * sessions propose changes there.
 */
const PREFIX = /^Fairlead(?: \(.*\))?: /;

/** Translates a title, but not its prefix. Returns an unknown title unchanged. */
export function translateTitle(title: string): string {
  const [prefix] = PREFIX.exec(title) ?? [];
  if (prefix !== undefined) return prefix + translateTitle(title.slice(prefix.length));
  for (const [pattern, translated] of PATTERNS) {
    const [, ...parts] = pattern.exec(title) ?? [];
    if (parts.length > 0) return translated(...parts);
  }
  return TITLES[title] ?? title;
}
