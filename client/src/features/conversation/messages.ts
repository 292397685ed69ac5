// The messages between the extension and the webview of the conversation. They are plain values, so that each side can
// be tested alone.

import type { TaskMode } from "../../state/taskMode";

/** A file in the workspace, and the number of a line in it, counted from 1; null: no line. */
export interface Place {
  readonly uri: string;
  readonly line: number | null;
}

/**
 * A text that may be cut off: the output of a command at its start, every other text at its end. `omitted` is the number
 * of characters that are not shown.
 */
export interface ShownText {
  readonly text: string;
  readonly omitted: number;
}

/** How a tool call goes on or has ended. `refused`: by the user or by the run's rules; its result is only for the model. */
export type ToolState = "running" | "ok" | "failed" | "refused";

/** An entry of the conversation as it is drawn. */
export type EntryView =
  | {
      readonly kind: "prompt";
      readonly body: ShownText;
      /** Says that it was sent during a run; else empty. */
      readonly note: string;
      /** The names of the pictures that were sent with it. */
      readonly pictures: readonly string[];
      readonly canRewind: boolean;
    }
  | { readonly kind: "answer"; readonly body: ShownText }
  | { readonly kind: "thinking"; readonly body: ShownText }
  | { readonly kind: "step"; readonly label: string; readonly mark: string; readonly description: string }
  | {
      readonly kind: "tool";
      readonly state: ToolState;
      readonly title: string;
      readonly isCommand: boolean;
      readonly place: Place | null;
      /** A few words after the title: why it failed, or a short result. */
      readonly note: string;
      /** A command of several lines, because the title has only its first line; else empty. */
      readonly command: ShownText;
      readonly body: ShownText;
      /** Whether the body is cut at its start instead of its end, and opens scrolled to its end. */
      readonly showsEnd: boolean;
      /** Whether it proposed a change, which the page asks for when the user unfolds the call. */
      readonly hasChanges: boolean;
      /** Whether a subagent does it, so that the user can see what it did. */
      readonly isSubagent: boolean;
    }
  | { readonly kind: "note"; readonly text: string }
  | { readonly kind: "context"; readonly title: string; readonly body: ShownText }
  | { readonly kind: "rules"; readonly files: readonly { readonly place: Place; readonly label: string }[] }
  | { readonly kind: "end"; readonly title: string; readonly body: ShownText; readonly record: string };

/** A proposed change below the call that made it. */
export interface ChangeView {
  readonly uri: string;
  /** The hunk; empty for a file that is decided as a whole. */
  readonly id: string;
  readonly title: string;
  /** Whether a later call changed these lines too. */
  readonly isChangedLater: boolean;
  readonly rows: readonly {
    readonly mark: "-" | "+";
    /** `isChanged`: the other side lacks it. */
    readonly parts: readonly { readonly text: string; readonly isChanged: boolean }[];
  }[];
  /** How many more rows there are. */
  readonly omitted: number;
}

/** Something that waits for the user, or that the user can do next, with buttons. */
export interface CardView {
  readonly id: string;
  readonly title: string;
  /** A command, with invisible characters as escapes; else empty. */
  readonly subject: string;
  readonly details: readonly string[];
  readonly buttons: readonly string[];
  /**
   * What a text from the prompt is for it: its answer, or the reason to reject it; null if it takes no text. A card that
   * takes an answer also has a box for it.
   */
  readonly reply: "answer" | "reason" | null;
}

/** Something that is sent with the next task unless the user removes it. */
export interface ChipView {
  readonly id: "editor" | "selection" | `picture-${number}`;
  readonly label: string;
  readonly title: string;
  /** A small version of a picture as a `data:` URL; else empty. */
  readonly thumbnail: string;
}

export interface CompletionView {
  readonly label: string;
  readonly description: string;
  /** The text before the cursor, with the completion applied. */
  readonly text: string;
}

/** An agent that a file describes. */
export interface AgentView {
  readonly name: string;
  readonly description: string;
}

/** The parts of the prompt around its text. */
export interface PromptView {
  readonly chips: readonly ChipView[];
  /** The earlier tasks and messages, newest first. */
  readonly history: readonly string[];
  /** The agents in files that can do a task. */
  readonly agents: readonly AgentView[];
  /** The title of the agent that does the next task. */
  readonly agent: string;
  /** Whether that is an agent of another maker, which has modes of its own. */
  readonly isHosted: boolean;
  /** The model, or the options, of that agent. */
  readonly model: string;
  /**
   * The cost and the tokens of the last run, and the cost of all runs if there were several; empty if the last run has
   * used no tokens, or if there was no run.
   */
  readonly cost: string;
  /** How full the model's context window is, in percent; null if that is unknown. */
  readonly window: number | null;
}

/** Everything that the webview shows except the entries. */
export interface StateView {
  /** The session's title; empty if there is no session, or it has no title yet. */
  readonly title: string;
  /** The file name of the recording that replaces the model; empty if none does. */
  readonly replay: string;
  readonly isRunning: boolean;
  /** What the agent is doing; empty if it is idle. */
  readonly doing: string;
  /** Whether it waits for an answer from the user. */
  readonly isWaiting: boolean;
  /** When the work began, in milliseconds since the epoch; null if the agent is idle or waits for the user. */
  readonly startedAt: number | null;
  /** When the request that failed is sent again; null if none is. */
  readonly retryAt: number | null;
  readonly cards: readonly CardView[];
  readonly prompt: PromptView;
}

/** From the extension to the webview. */
export type Update =
  | { readonly kind: "state"; readonly state: StateView }
  | {
      readonly kind: "entries";
      /** Whether the entries in `changed` replace everything that is shown. */
      readonly isNew: boolean;
      /** The index of the first entry that is shown. Earlier entries are sent when the webview asks for them. */
      readonly first: number;
      /** The new and the changed entries, by ascending index. */
      readonly changed: readonly (readonly [index: number, entry: EntryView])[];
    }
  /** Another session is shown, or the first one of this page. The draft is what was typed there but not sent. */
  | { readonly kind: "session"; readonly id: string; readonly draft: string }
  /** A text that was not sent, because the task did not start. It never replaces what the user has typed. */
  | { readonly kind: "draft"; readonly text: string }
  /** Put this text into the prompt, above what the user has typed. */
  | { readonly kind: "edit"; readonly text: string }
  /** Put this text where the cursor is, in place of the selection. */
  | { readonly kind: "insert"; readonly text: string }
  | { readonly kind: "completions"; readonly request: number; readonly items: readonly CompletionView[] }
  /** Scroll to this entry, which the webview has; null: to the end. */
  | { readonly kind: "reveal"; readonly entry: number | null }
  /** The indexes of the entries that contain a text, in ascending order. */
  | { readonly kind: "found"; readonly request: number; readonly entries: readonly number[] }
  /** The undecided changes of an entry's call, whenever they change after they were asked for. */
  | { readonly kind: "changes"; readonly entry: number; readonly changes: readonly ChangeView[] }
  /** Let the user find a text. */
  | { readonly kind: "find" }
  /** Scroll to the user's previous (-1) or next (1) message. */
  | { readonly kind: "jump"; readonly by: -1 | 1 }
  | { readonly kind: "focus" };

/** From the webview to the extension: what the user wants. */
export type Intention =
  | { readonly kind: "ready" }
  /** Send the entries from this index on, and forget those before it. */
  | { readonly kind: "showFrom"; readonly first: number }
  /** Scroll to the user's message that is nearest before (-1) or after (1) an entry. */
  | { readonly kind: "jump"; readonly from: number; readonly by: -1 | 1 }
  /** Find the entries that contain a text, also those that the webview does not have. */
  | { readonly kind: "find"; readonly request: number; readonly text: string }
  /** Draw an entry and scroll to it. */
  | { readonly kind: "reveal"; readonly entry: number }
  /** Send the changes that an entry proposed, now and whenever they change. */
  | { readonly kind: "showChanges"; readonly entry: number }
  /** Accept or reject a change of an entry. */
  | {
      readonly kind: "decide";
      readonly entry: number;
      readonly uri: string;
      readonly change: string;
      readonly isAccepted: boolean;
    }
  /** List the user's messages, and scroll to the one that the user chooses. */
  | { readonly kind: "listMessages" }
  | { readonly kind: "press"; readonly card: string; readonly button: number }
  | { readonly kind: "answer"; readonly card: string; readonly text: string }
  | { readonly kind: "open"; readonly uri: string; readonly line: number | null }
  /** Open a file by a path that the model wrote. */
  | { readonly kind: "openPath"; readonly path: string; readonly line: number | null }
  /** Show an entry in an editor, without omissions. */
  | { readonly kind: "showWhole"; readonly entry: number }
  /** Show what the subagent of an entry did. */
  | { readonly kind: "showSubagent"; readonly entry: number }
  | { readonly kind: "copy"; readonly entry: number }
  /** Put the text of an entry into the prompt, for the user to change and send again. */
  | { readonly kind: "edit"; readonly entry: number }
  /** Rewind the session to its state before a prompt. */
  | { readonly kind: "rewind"; readonly entry: number }
  | { readonly kind: "copyText"; readonly text: string }
  /** Put this text where the cursor of the editor is, in place of the selection. */
  | { readonly kind: "insertText"; readonly text: string }
  /** `cards` are those that the text replies to; empty for a message or a task. */
  | { readonly kind: "send"; readonly text: string; readonly mode: TaskMode; readonly cards: readonly string[] }
  | { readonly kind: "stop" }
  /** Undo the last decision about the changes. */
  | { readonly kind: "undo" }
  | { readonly kind: "draft"; readonly session: string; readonly text: string }
  | { readonly kind: "complete"; readonly request: number; readonly text: string }
  /** Send a picture with the next task: its bytes as base64, and a small version as a `data:` URL or empty. */
  | { readonly kind: "addPicture"; readonly name: string; readonly data: string; readonly thumbnail: string }
  /** Let the user choose files, to mention them or to send them as pictures. */
  | { readonly kind: "attach" }
  /** Mention what was dropped on the prompt. */
  | { readonly kind: "drop"; readonly uris: readonly string[] }
  | { readonly kind: "removeChip"; readonly chip: ChipView["id"] }
  /** The user has chosen a mode. */
  | { readonly kind: "mode"; readonly mode: TaskMode }
  | { readonly kind: "chooseAgent" }
  | { readonly kind: "chooseModel" };

type Fields = Readonly<Record<string, unknown>>;
type Predicate = (value: unknown) => boolean;

/** The largest picture that a model reads, in bytes. The server checks it too. */
export const MAX_PICTURE = 5 * 1024 * 1024;
/** In UTF-16 units. A message with a longer text is ignored, unless the user has typed it. */
const MAX_TEXT = 1_000_000;
const isText: Predicate = (value) => typeof value === "string" && value.length <= MAX_TEXT;
/** No limit, because a text that is ignored would be lost. The server refuses a text that is too long, and says so. */
const isTypedText: Predicate = (value) => typeof value === "string";
const isList: Predicate = (value) => Array.isArray(value) && value.length <= 1000 && value.every(isText);
const isIndex: Predicate = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isFlag: Predicate = (value) => typeof value === "boolean";
const isDirection: Predicate = (value) => value === -1 || value === 1;
const isMode: Predicate = (value) =>
  value === "agent" ||
  value === "plan" ||
  value === "ask" ||
  (typeof value === "string" && /^agent:\S{1,64}$/.test(value));
const isChip: Predicate = (value) =>
  value === "editor" || value === "selection" || (typeof value === "string" && /^picture-\d{1,9}$/.test(value));
const isData: Predicate = (value) =>
  typeof value === "string" && value.length <= (MAX_PICTURE * 4) / 3 + 4 && /^[A-Za-z0-9+/]+={0,2}$/.test(value);
const isThumbnail: Predicate = (value) =>
  typeof value === "string" &&
  value.length <= 100_000 &&
  /^(data:image\/png;base64,[A-Za-z0-9+/]+={0,2})?$/.test(value);
const isLine: Predicate = (value) => value === null || isIndex(value);

/** The fields of each intention, with a predicate that recognizes a valid value. */
const INTENTIONS: Readonly<Record<Intention["kind"], Readonly<Record<string, Predicate>>>> = {
  ready: {},
  showFrom: { first: isIndex },
  jump: { from: isIndex, by: isDirection },
  find: { request: isIndex, text: isText },
  reveal: { entry: isIndex },
  showChanges: { entry: isIndex },
  decide: { entry: isIndex, uri: isText, change: isText, isAccepted: isFlag },
  listMessages: {},
  press: { card: isText, button: isIndex },
  answer: { card: isText, text: isTypedText },
  open: { uri: isText, line: isLine },
  openPath: { path: isText, line: isLine },
  showWhole: { entry: isIndex },
  showSubagent: { entry: isIndex },
  copy: { entry: isIndex },
  edit: { entry: isIndex },
  rewind: { entry: isIndex },
  copyText: { text: isText },
  insertText: { text: isText },
  send: { text: isTypedText, mode: isMode, cards: isList },
  stop: {},
  undo: {},
  draft: { session: isText, text: isTypedText },
  complete: { request: isIndex, text: isText },
  addPicture: { name: isText, data: isData, thumbnail: isThumbnail },
  attach: {},
  drop: { uris: isList },
  removeChip: { chip: isChip },
  mode: { mode: isMode },
  chooseAgent: {},
  chooseModel: {},
};

/**
 * Returns a message as an intention; undefined if it is not a valid one. The webview is not trusted, because it draws
 * untrusted text.
 */
export function parseIntention(message: unknown): Intention | undefined {
  if (typeof message !== "object" || message === null) return undefined;
  const { kind, ...fields } = message as Fields;
  if (typeof kind !== "string" || !Object.hasOwn(INTENTIONS, kind)) return undefined;
  const expected = Object.entries(INTENTIONS[kind as Intention["kind"]]);
  const isValid = expected.every(([name, isRight]) => Object.hasOwn(fields, name) && isRight(fields[name]));
  return isValid && Object.keys(fields).length === expected.length ? (message as Intention) : undefined;
}
