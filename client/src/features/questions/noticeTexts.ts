// The texts and links of notices. Pure.

import { t } from "@vscode/l10n";
import { describeApproval } from "../../ui/approvalTexts";
import type { ApproveParams } from "../../wire/protocol";
import type { Session } from "../../state/session";
import type { WaitingAction } from "../../state/waiting";
import { sessionName } from "../../ui/sessionTexts";
import { lineText } from "../../ui/shownText";

/**
 * The maximum length of a notice's text, in characters. VS Code truncates a message after 1,000 characters, which must
 * include the links at the end.
 */
const MAX_LENGTH = 600;

export interface Notice {
  /** The approval, question, pause or end entry. The notice exists as long as the session has this object. */
  readonly about: object;
  readonly text: string;
  readonly links: readonly { readonly title: string; readonly action: WaitingAction }[];
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
      links: [{ title: t("Answer"), action: { kind: "answer", question } }],
    })),
  ];
  if (session.pause) {
    notices.push({
      about: session.pause,
      text: session.pause.reason,
      links: [{ title: t("Continue"), action: { kind: "continueRun", sessionId: session.id } }],
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

function approvalNotice(approval: ApproveParams, relative: (uri: string) => string): Pick<Notice, "text" | "links"> {
  const { message, dialogTitle, choices } = describeApproval(approval, relative);
  const decisions = choices.map(({ title, option }) => ({
    title,
    action: { kind: "decide", approval, option } as const,
  }));
  const showAll = { title: t("Show Full Command"), action: { kind: "show", approval } as const };
  // the user must not allow a command that the notice does not show completely
  return {
    text: message ?? dialogTitle,
    links:
      message === undefined ? [showAll, ...decisions.filter(({ action }) => action.option === "reject")] : decisions,
  };
}
