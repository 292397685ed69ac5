// Text as VS Code's surfaces may show it. What a model, its server, a repository or the name of a file says is untrusted:
// it must not become a link or an icon, hide a part of itself, or change its direction. So every string is untrusted
// here, and what is meant as a link or an icon is passed apart from it. Pure.

/** Joiners and variation selectors where emoji and some scripts need them. They are invisible anywhere else. */
const EMOJI = String.raw`\p{Extended_Pictographic}`;
const JOINING = ["Arab", "Syrc", "Mong", "Nkoo", "Deva", "Beng", "Guru", "Gujr", "Orya", "Taml", "Telu", "Knda", "Mlym"]
  .concat("Sinh", "Khmr", "Mymr")
  .map((script) => String.raw`\p{Script=${script}}`)
  .join("");
// the character comes first and the look at what precedes it after that, because that is much faster
const IN_PLACE = [
  String.raw`\u200d(?<=[${EMOJI}\p{Emoji_Modifier}\ufe0f]\u200d)(?=${EMOJI})`,
  String.raw`[\u200c\u200d](?<=[${JOINING}].)(?=[${JOINING}])`,
  String.raw`[\ufe0e\ufe0f](?<=${EMOJI}.)|\ufe0f(?<=[0-9#*].)(?=\u20e3)`,
  String.raw`[\ufe00-\ufe02\u{e0100}-\u{e01ef}](?<=\p{Script=Han}.)|[\u180b-\u180f](?<=\p{Script=Mong}.)`,
].join("|");
/**
 * Characters that draw nothing, end a line or change the direction of the text, apart from line feeds and tabs; and
 * marks above ten others, which would cover the lines around them.
 */
const HIDDEN = String.raw`(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800]`;
const TOO_MANY_MARKS = String.raw`\p{M}(?<=\p{M}{11})`;
const PATTERN = new RegExp(`(${IN_PLACE})|${HIDDEN}|${TOO_MANY_MARKS}`, "gu");

/**
 * Converts a text so that the user sees exactly what is there: line endings become `\n`, and what would be invisible
 * becomes an escape such as `\u{202e}`.
 */
export function visibleText(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(PATTERN, (character, inPlace?: string) => inPlace ?? escapeCharacter(character));
}

const escapeCharacter = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** Converts all strings in a value as `visibleText` does. */
export function withVisibleTexts<Value>(value: Value): Value {
  if (typeof value === "string") return visibleText(value) as Value;
  if (Array.isArray(value)) return value.map(withVisibleTexts) as Value;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withVisibleTexts(part)])) as Value;
}

/** In characters. VS Code shows less of a label, and truncates messages after this length. */
const MAX_LENGTH = 1000;
/** In characters, for a text of several lines in a hover. */
const MAX_TOOLTIP = 5000;

/** Cuts a text to a length in characters (UTF-16), with `…` at the end. */
export function cut(text: string, length: number): string {
  return text.length <= length
    ? text
    : `${text
        .slice(0, length - 1)
        .replace(/[\ud800-\udbff]$/, "")
        .trimEnd()}…`;
}

/** A text for one line: a label, a title, a description. */
export function lineText(text: string, length = MAX_LENGTH): string {
  return cut(visibleText(cut(text, 10 * length)).replace(/\s+/g, " "), length);
}

/** A text of several lines for a hover that does not read Markdown. */
export const tooltipText = (text: string): string => cut(visibleText(cut(text, MAX_TOOLTIP)), MAX_TOOLTIP);

/**
 * A text for one line where VS Code would draw an icon for `$(name)`: in the status bar, in the rows of quick picks, in
 * CodeLenses and in completions. `icon` is drawn before it.
 */
export function iconText(text: string, icon = "", length = MAX_LENGTH): string {
  const shown = lineText(text, length).replace(/\$\((?=[a-z0-9-]+(?:~[a-z]+)?\))/gi, "\\$&");
  return icon === "" ? shown : `$(${icon}) ${shown}`;
}

/** A text where VS Code would turn `[words](address)` into a link, which may run a command: messages and prompts. */
export const messageText = (text: string): string => visibleText(text).replaceAll("](", "] (");
