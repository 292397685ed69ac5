// The cards with buttons for what waits for the user, in the shown session and in others, and for what the user can do
// next. Pure.

import { t } from "@vscode/l10n";
import type { CardView } from "./messages";
import type { ApproveParams, AskParams, RunError } from "../../wire/protocol";
import { actionLabel, errorActions, type ErrorAction } from "../../server/errorActions";
import { describeApproval } from "../../ui/approvalTexts";
import { sessionName } from "../../ui/sessionTexts";
import {
  earlyEnd,
  earlyEndTexts,
  isReadyToGo,
  lastingFailure,
  otherWaiting,
  pauseReason,
  pauseTitle,
  type WaitingAction,
} from "../../state/waiting";
import type { Session } from "../../state/session";
import { countText } from "../../ui/format";
import { withVisibleTexts } from "../../ui/shownText";

/** What a button does. `WaitingAction` has the actions that notices offer too. */
export type CardAction =
  | WaitingAction
  | { readonly kind: "retry" | "stop"; readonly sessionId: string }
  | { readonly kind: "help"; readonly sessionId: string; readonly help: ErrorAction }
  | { readonly kind: "showSession"; readonly sessionId: string }
  | { readonly kind: "command"; readonly command: string }
  /** Puts a text into the prompt. */
  | { readonly kind: "offer"; readonly text: string };

export interface Card {
  /**
   * What the card is about: an approval, a question, or a name that no other card of any session has. The name contains
   * no spaces, because it becomes a part of an element's id.
   */
  readonly about: object | string;
  readonly title: string;
  /** The command that the agent asks to run. */
  readonly subject?: string;
  /** Lines below the subject: where the command runs, and why the user is asked. */
  readonly details?: readonly string[];
  readonly buttons: readonly { readonly label: string; readonly action: CardAction }[];
  /** The question that the user can also answer in words. */
  readonly question?: AskParams;
  /** The approval that the user can also reject in words, because the agent waits for it. */
  readonly approval?: ApproveParams;
}

/** What the cards depend on in this window: whether tasks can run in it, and how they reach the model. */
export interface WindowState {
  readonly hasFolder: boolean;
  readonly isTrusted: boolean;
  /** Whether the model's provider takes an API key, as opposed to a sign-in. */
  readonly usesKey: boolean;
  /** Whether access to a model is set up. */
  readonly hasModel: boolean;
  /** Whether the server could not be started. */
  readonly hasFailed: boolean;
  /** Tasks that an empty conversation offers. */
  readonly examples: readonly string[];
}

/**
 * Returns the cards while `session` is shown, the most urgent first. Each other session in `sessions` that waits for
 * the user has a card too. `relative` converts a URI to a path for display.
 */
export function cardsOf(
  session: Session | undefined,
  windowState: WindowState,
  relative: (uri: string) => string,
  sessions: readonly Session[] = [],
): Card[] {
  const blocked = blockingCards(windowState);
  const others = otherWaiting(sessions, session).map(otherCard);
  if (!session) return [...blocked, ...(blocked.length === 0 ? startCards(windowState) : []), ...others];
  return [
    ...session.approvals.map((approval): Card => {
      const { cardTitle, subject, place, choices, reasons } = describeApproval(approval, relative);
      return {
        about: approval,
        title: cardTitle,
        subject: approval.kind === "file" ? "" : subject,
        details: [place, ...reasons].filter(Boolean),
        buttons: choices.map(({ title, option }) => ({ label: title, action: { kind: "decide", approval, option } })),
        ...(approval.toolCallId === null ? {} : { approval }),
      };
    }),
    ...session.questions.map((question): Card => ({
      about: question,
      title: question.question,
      buttons: question.options.map((text) => ({
        label: text,
        action: { kind: "reply", question, text },
      })),
      question,
    })),
    ...blocked,
    ...(session.running ? waitCards : idleCards)(session, windowState.usesKey),
    ...others,
  ];
}

function otherCard(session: Session): Card {
  const show = { label: t("Show"), action: { kind: "showSession", sessionId: session.id } } as const;
  return { about: `other-${session.id}`, title: t("{0} is waiting for you.", sessionName(session)), buttons: [show] };
}

/** Returns a card while the session waits to send its request again, with what may help. */
function waitCards(session: Session, usesKey: boolean): Card[] {
  const failure = lastingFailure(session);
  if (!failure) return [];
  const stop = { label: t("Stop"), action: { kind: "stop", sessionId: session.id } } as const;
  const buttons = [...helpButtons(session, failure, usesKey), stop];
  return [{ about: `wait-${session.id}`, title: t("The model has not answered yet."), buttons }];
}

function helpButtons({ id }: Session, error: RunError | null, usesKey: boolean): Card["buttons"] {
  return errorActions(error, usesKey).map((help) => ({
    label: actionLabel(help),
    action: { kind: "help", sessionId: id, help },
  }));
}

/** Returns the cards for what the user can do next while the session does not run. */
function idleCards(session: Session, usesKey: boolean): Card[] {
  const end = earlyEnd(session);
  const cards: Card[] = [];
  if (pauseReason(session) !== undefined) {
    const action = { kind: "continueRun", sessionId: session.id } as const;
    cards.push({
      about: `pause-${session.id}`,
      title: pauseTitle(session),
      buttons: [{ label: t("Continue"), action }],
    });
  } else if (end) {
    const { title, button } = earlyEndTexts(end);
    const retry = { kind: "retry", sessionId: session.id } as const;
    const again = button === undefined ? [] : [{ label: button, action: retry }];
    const buttons = [...helpButtons(session, end.error, usesKey), ...again];
    cards.push({ about: `end-${session.id}`, title, buttons });
  }
  if (isReadyToGo(session)) {
    const buttons = [commandButton(t("Go"), "fairlead.go"), commandButton(t("Show Plan"), "fairlead.plan.focus")];
    const title = t("The plan is ready. Edit it if you like, then choose Go.");
    cards.push({ about: `plan-${session.id}`, title, buttons });
  }
  const files = session.edits?.files.length ?? 0;
  if (files > 0) {
    const buttons = [commandButton(t("Review Changes"), "fairlead.reviewAll")];
    cards.push({ about: `review-${session.id}`, title: t("{0} to review.", countText(files, "file")), buttons });
  }
  return cards;
}

/** Returns a card that says why no task can run in this window; none if tasks can run. */
function blockingCards({ hasFolder, isTrusted, hasFailed }: WindowState): Card[] {
  if (!hasFolder) {
    const buttons = [commandButton(t("Open Folder"), "vscode.openFolder")];
    return [{ about: "folder", title: t("Open the folder that the agent should work in."), buttons }];
  }
  if (!isTrusted) {
    const buttons = [commandButton(t("Manage Trust"), "workbench.trust.manage")];
    return [{ about: "trust", title: t("The agent runs only in a workspace that you trust."), buttons }];
  }
  if (!hasFailed) return [];
  const buttons = [
    commandButton(t("Try Again"), "fairlead.restartServer"),
    commandButton(t("Show Log"), "fairlead.showLog"),
  ];
  return [{ about: "server", title: t("Fairlead's server could not be started."), buttons }];
}

/** Returns the cards of an empty conversation. */
function startCards({ hasModel, examples }: WindowState): Card[] {
  const setUp: Card = {
    about: "model",
    title: t("No model is set up yet."),
    buttons: [
      commandButton(t("Set Up Model"), "fairlead.setUpModel"),
      commandButton(t("Try the Example"), "fairlead.openExample"),
    ],
  };
  const offers = examples.map((text) => ({ label: text, action: { kind: "offer", text } }) as const);
  const tasks: Card = {
    about: "examples",
    title: t("For example:"),
    buttons: offers,
  };
  return [...(hasModel ? [] : [setUp]), tasks];
}

const commandButton = (label: string, name: string): Card["buttons"][number] => ({
  label,
  action: { kind: "command", command: name },
});

/** Converts a card for the webview. `idOf` always returns the same id for the same `about`. */
export function cardView(card: Card, idOf: (about: object | string) => string): CardView {
  return withVisibleTexts({
    id: idOf(card.about),
    title: card.title,
    subject: card.subject ?? "",
    details: card.details ?? [],
    buttons: card.buttons.map(({ label }) => label),
    reply: card.question ? "answer" : card.approval ? "reason" : null,
  });
}

/** Returns a function that gives each object a unique id. A string is its own id. */
export function objectIds(): (about: object | string) => string {
  const ids = new WeakMap<object, string>();
  let last = 0;
  return (about) => {
    if (typeof about === "string") return about;
    const id = ids.get(about) ?? `#${++last}`;
    ids.set(about, id);
    return id;
  };
}
