// The `/` commands of the prompt. Pure.

import { t } from "@vscode/l10n";
import { promptCompletions, typedPrompt, type ChosenPrompt } from "../../context/serverPrompts";
import { lineText } from "../../ui/shownText";
import type { Mode } from "../../wire/protocol";
import type { ServerOffer, Skill } from "../../wire/protocolStates";

/** What a prompt can begin with besides Fairlead's own commands: a skill, or a command of a hosted agent. */
export type TypedCommand = Pick<Skill, "name" | "description" | "hint" | "isForUser">;

interface SlashCommand {
  readonly name: string;
  readonly description: string;
  /** The mode of the task that follows the command. Without a mode, the command takes no words and runs at once. */
  readonly mode?: Mode;
  /** Whether the task runs in a new session, even while another session is running. */
  readonly isNew?: boolean;
  /** The VS Code command that it runs. Exactly one of `mode` and `command` is set. */
  readonly command?: string;
}

const COMMANDS: readonly SlashCommand[] = [
  { name: "plan", description: t("let the agent only plan the task"), mode: "plan" },
  { name: "ask", description: t("ask a question; nothing changes"), mode: "ask" },
  { name: "new", description: t("run the task in a new session"), mode: "agent", isNew: true },
  { name: "review", description: t("open all proposed changes"), command: "fairlead.reviewAll" },
  { name: "check", description: t("run a check on the proposed files"), command: "fairlead.runCheck" },
  { name: "undo", description: t("undo the last decision"), command: "fairlead.undoReview" },
  { name: "rewind", description: t("go back to an earlier message"), command: "fairlead.rewind" },
  { name: "history", description: t("show each version of the plan"), command: "fairlead.showPlanHistory" },
  { name: "record", description: t("copy a summary for a pull request"), command: "fairlead.copyRecord" },
  { name: "commit", description: t("write a commit message from the record"), command: "fairlead.writeCommitMessage" },
  { name: "permissions", description: t("show which commands may run"), command: "fairlead.showCommandRules" },
  { name: "skills", description: t("show the skills and commands"), command: "fairlead.showSkills" },
  { name: "hooks", description: t("show the hooks"), command: "fairlead.showHooks" },
  { name: "mcp", description: t("show the tool servers"), command: "fairlead.showToolServers" },
  { name: "model", description: t("choose the model and its effort"), command: "fairlead.chooseModel" },
  { name: "agent", description: t("choose who works"), command: "fairlead.chooseAgent" },
];

/** What the user sent. A task with the mode undefined runs in the mode that the user has selected. */
export type Sent =
  | {
      readonly kind: "task";
      readonly text: string;
      readonly mode: Mode | undefined;
      readonly isNew: boolean;
      /** The prompt of a tool server that the text chooses. */
      readonly chosen?: ChosenPrompt;
    }
  | { readonly kind: "command"; readonly command: string }
  /** The text is missing, or follows a command that takes none. `problem` tells the user. */
  | { readonly kind: "unclear"; readonly problem: string };

/**
 * Parses what the user sent. A text that begins with a path, such as `/etc/hosts`, is a task. `offers` are those of the
 * tool servers. The server of the agent knows which of the `skills` a task begins with.
 */
export function parseSent(text: string, offers: readonly ServerOffer[], skills: readonly TypedCommand[]): Sent {
  const typed = typedPrompt(text, offers);
  if (typed) {
    const { command, hint, missing, hasMore, chosen } = typed;
    if (missing.length > 0) {
      const problem = t("/{0} needs {1}. Write the values in this order: {2}", command, missing.join(", "), hint);
      return { kind: "unclear", problem };
    }
    if (hasMore) return { kind: "unclear", problem: takesNoText(command) };
    return { kind: "task", text: text.trim(), mode: undefined, isNew: false, chosen };
  }
  const [, name, rest = ""] = /^\s*\/([a-z]+)(?:\s+([^]*))?$/.exec(text) ?? [];
  const found = COMMANDS.find((each) => each.name === name);
  const words = rest.trim();
  if (!found) {
    const unknown = /^\s*\/([a-z]+)(?:\s|$)/i.exec(text)?.[1];
    const isSkill = skills.some((skill) => skill.isForUser && skill.name === unknown);
    if (unknown === undefined || isSkill) return { kind: "task", text: text.trim(), mode: undefined, isNew: false };
    const problem = t("There is no command /{0}. To send this as a task, begin it with another word.", unknown);
    return { kind: "unclear", problem };
  }
  if (found.command !== undefined) {
    if (words === "") return { kind: "command", command: found.command };
    return { kind: "unclear", problem: takesNoText(found.name) };
  }
  if (words === "" && found.isNew) return { kind: "command", command: "fairlead.newSession" };
  if (words === "") return { kind: "unclear", problem: t("Write the task after /{0}.", found.name) };
  return { kind: "task", text: words, mode: found.mode, isNew: found.isNew ?? false };
}

const takesNoText = (command: string): string =>
  t("/{0} takes no text. To send this as a task, begin it with another word.", command);

/**
 * Returns the completions of a `/` and the beginning of a command's name. `offers` are those of the tool servers. A prompt that begins with the name
 * of one of the `skills` uses it; the server of the agent sees to that.
 */
export function slashCompletions(
  text: string,
  offers: readonly ServerOffer[],
  skills: readonly TypedCommand[],
): { label: string; description: string; text: string }[] {
  const typed = text.slice(1);
  const own = COMMANDS.filter(({ name }) => name.startsWith(typed)).map(({ name, description, command }) => ({
    label: `/${name}`,
    description,
    text: command === undefined ? `/${name} ` : `/${name}`,
  }));
  const taken = COMMANDS.map(({ name }) => name);
  const usable = skills.filter(({ name, isForUser }) => isForUser && name.startsWith(typed) && !taken.includes(name));
  const ofSkills = usable.map(({ name, hint, description }) => ({
    label: lineText([`/${name}`, hint].filter(Boolean).join(" ")),
    description: lineText(description),
    text: `/${name} `,
  }));
  return [...own, ...ofSkills, ...promptCompletions(typed, offers)];
}
