// The completions of a mention at the end of a text: keywords, files, folders and resources of tool servers, the best
// match first. And those of the skill or command that a text begins with. Pure.

import { t } from "@vscode/l10n";
import { lineText } from "../ui/shownText";
import type { ServerOffer, Skill } from "../wire/protocolStates";
import { KEYWORDS, pathMention, unfinishedMention, type Keyword } from "./mentions";

export interface Completion {
  readonly kind: "keyword" | "file" | "folder" | "resource" | "skill";
  /** The mention, such as `#src/a.ts`, or the `/` with the name of a skill or a command. */
  readonly mention: string;
  readonly description: string;
  /** Whether exactly this was typed, apart from a `/` at the end. */
  readonly isExact: boolean;
}

/** The files, keywords and resources that can be mentioned. */
export interface Mentionable {
  /** The files of the workspace, as paths with `/`. */
  readonly files: readonly string[];
  /** Those of the files that are open. */
  readonly open: readonly string[];
  /** The keywords that can be used now, each with a description of what it refers to. */
  readonly keywords: Partial<Record<Keyword, string>>;
  /** What the tool servers offer. */
  readonly offers: readonly ServerOffer[];
}

export const MAX_COMPLETIONS = 50;

/**
 * Returns the completions of the mention at the end of a text, at most `MAX_COMPLETIONS`; none if there is no mention.
 */
export function completionsAt(text: string, available: Mentionable): Completion[] {
  const mention = unfinishedMention(text);
  if (!mention) return [];
  const typed = mention.typed.toLowerCase();
  const keywords = mention.isFile ? [] : KEYWORDS.filter((word) => word.startsWith(typed));
  const found: Completion[] = keywords.flatMap((word) => {
    const description = available.keywords[word];
    if (description === undefined) return [];
    return [{ kind: "keyword", mention: `#${word}`, description, isExact: word === mention.typed }];
  });
  return [...found, ...pathCompletions(mention.typed, available)].slice(0, MAX_COMPLETIONS);
}

/** Whether a text is a `/` and the beginning of a name. */
export const isSlashBeginning = (text: string): boolean => /^\/\S*$/.test(text);

/** Returns the skills and commands for the user that such a text may begin with; none for any other text. */
export function skillCompletions(text: string, skills: readonly Skill[]): Completion[] {
  if (!isSlashBeginning(text)) return [];
  return skills
    .filter(({ name, isForUser }) => isForUser && `/${name}`.startsWith(text))
    .map(({ name, hint, description }) => ({
      kind: "skill",
      mention: `/${name}`,
      description: lineText([hint, description].filter(Boolean).join(" · ")),
      isExact: `/${name}` === text,
    }));
}

/**
 * Completes the mention at the end of a text, or appends it if there is none. A skill or a command replaces the text. Adds
 * a space, so that the user can type the next word.
 */
export function applyCompletion(text: string, completion: Completion): string {
  if (completion.kind === "skill") return `${completion.mention} `;
  const start = unfinishedMention(text)?.start ?? text.length;
  return `${text.slice(0, start)}${completion.mention} `;
}

function pathCompletions(typed: string, { files, open, offers }: Mentionable): Completion[] {
  const openFiles = new Set(open);
  // as a mention is read
  const typedPath = typed.replaceAll("\\", "/").replace(/^\.\//, "");
  const wanted = typedPath.toLowerCase();
  const paths = [
    ...files.map((path) => ({ path, kind: "file" as const, about: path.split("/").slice(0, -1).join("/") })),
    ...(wanted === "" ? [] : foldersOf(files).map((path) => ({ path, kind: "folder" as const, about: t("folder") }))),
    ...offers.flatMap(({ server, resources }) =>
      resources.map(({ uri, name, description }) => ({
        path: `${server}:${uri}`,
        kind: "resource" as const,
        about: lineText([name, description].filter(Boolean).join(" · ")),
      })),
    ),
  ];
  return paths
    .map((each) => ({ ...each, rank: rankOf(each.path.toLowerCase(), wanted), isOpen: openFiles.has(each.path) }))
    .filter(({ rank }) => rank !== undefined)
    .sort((a, b) => orderOf(a) - orderOf(b) || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
    .slice(0, MAX_COMPLETIONS)
    .map(({ path, kind, about }) => ({
      kind,
      mention: pathMention(path),
      description: about,
      isExact: path === typedPath.replace(/\/$/, ""),
    }));
}

/**
 * Returns a number to sort by: better matches come first. Among equally good matches, open files come first, then other
 * files, then folders and resources.
 */
function orderOf({ rank = 0, isOpen, kind }: { rank?: number | undefined; isOpen: boolean; kind: string }): number {
  return 3 * rank + (isOpen ? 0 : kind === "file" ? 1 : 2);
}

/** Returns how well a path matches what was typed, both in lower case: 0 is best, undefined means not at all. */
function rankOf(path: string, typed: string): number | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (path === typed || `${path}/` === typed) return 0;
  if (name.startsWith(typed)) return 1;
  if (path.startsWith(typed) && !path.includes("/", typed.length)) return 1;
  if (path.startsWith(typed)) return 2;
  if (name.includes(typed)) return 3;
  if (path.includes(typed)) return 4;
  return isSubsequence(typed, path) ? 5 : undefined;
}

function isSubsequence(typed: string, path: string): boolean {
  let position = 0;
  for (const character of typed) {
    position = path.indexOf(character, position) + 1;
    if (position === 0) return false;
  }
  return true;
}

function foldersOf(files: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const file of files) {
    for (let end = file.lastIndexOf("/"); end > 0; end = file.lastIndexOf("/", end - 1))
      folders.add(file.slice(0, end));
  }
  return [...folders];
}
