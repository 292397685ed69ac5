// The texts and buttons of notices. Pure.

import { t } from "@vscode/l10n";
import { describeApproval, type Choice } from "../../ui/approvalTexts";
import type { ApproveParams, AskParams } from "../../wire/protocol";
import type { Session } from "../../state/session";
import { isOwnAccept, type WaitingAction } from "../../state/waiting";
import { sessionName } from "../../ui/sessionTexts";
import { lineText } from "../../ui/shownText";

/** The maximum length of a notice's text, in characters. VS Code truncates a message after 1,000 characters. */
const MAX_LENGTH = 600;
/** How many of the answers to a question have a button, and how long these may be, in characters. */
const [MAX_ANSWERS, MAX_ANSWER] = [3, 40];

export interface Notice {
  /** The approval, question, pause or end entry. The notice exists as long as the session has this object. */
  readonly about: object;
  readonly text: string;
  readonly buttons: readonly { readonly title: string; readonly action: WaitingAction }[];
}

/** Returns a notice for each pending approval and question of a session, and for its pause. */
export function noticesOf(session: Session, relative: (uri: string) => string): Notice[] {
  const notices = [
    ...session.approvals.map((approval): Notice => ({
      about: approval,
      ...approvalNotice(approval, relative),
    })),
    ...session.questions.map((question): Notice => ({
      about: question,
      text: t("The agent asks: {0}", question.question),
      buttons: questionButtons(question),
    })),
  ];
  if (session.pause) {
    notices.push({
      about: session.pause,
      text: session.pause.reason,
      buttons: [{ title: t("Continue"), action: { kind: "continueRun", sessionId: session.id } }],
    });
  }
  return notices.map(({ text, ...notice }) => ({
    ...notice,
    text: lineText(`${sessionName(session)}: ${text}`, MAX_LENGTH),
  }));
}

/**
 * Returns a notice of the end of a session's last run; none if the session is running, if the user stopped the run, or
 * if it paused, which `noticesOf` reports.
 */
export function endNotices(session: Session): Pick<Notice, "about" | "text">[] {
  const last = session.entries.at(-1);
  if (session.running || session.pause || last?.kind !== "end" || last.stopReason === "cancelled") return [];
  const text = (last.stopReason === "end_turn" ? last.record : last.message) || t("done.");
  return [{ about: last, text: lineText(`${sessionName(session)}: ${text}`, MAX_LENGTH) }];
}

function approvalNotice(approval: ApproveParams, relative: (uri: string) => string): Pick<Notice, "text" | "buttons"> {
  const { message, dialogTitle, showTitle, choices } = describeApproval(approval, relative);
  const button = ({ title, option }: Choice): Notice["buttons"][number] => ({
    title,
    action: { kind: "decide", approval, option },
  });
  const show = (title: string): Notice["buttons"][number] => ({ title, action: { kind: "show", approval } });
  // the user must not allow a command that the notice does not show completely
  if (message === undefined) {
    const safe = choices.filter(({ option }) => option === "reject");
    return { text: dialogTitle, buttons: [show(showTitle), ...safe.map(button)] };
  }
  const brief = choices.filter(({ option }) => option === "allow_once" || option === "reject");
  const more = brief.length < choices.length ? [show(t("More..."))] : [];
  const text = isOwnAccept(approval) ? `${message} ${t("Accept again to confirm.")}` : message;
  return { text, buttons: [...brief.map(button), ...more] };
}

/** The options as buttons, if there are few and short ones, and one to type an answer. */
function questionButtons(question: AskParams): Notice["buttons"] {
  const { options } = question;
  const isBrief = options.length <= MAX_ANSWERS && options.every((option) => option.length <= MAX_ANSWER);
  const given = (isBrief ? options : []).map((text): Notice["buttons"][number] => ({
    title: lineText(text),
    action: { kind: "reply", question, text },
  }));
  const own = given.length > 0 ? t("Other Answer...") : t("Answer...");
  return [...given, { title: own, action: { kind: "answer", question } }];
}
