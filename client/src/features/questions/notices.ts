// Notices of the approvals, questions and pauses that wait for the user: messages whose buttons are the answers. A notice
// goes when the user answers, here or elsewhere, or opens the conversation, which has a card for it. Only the question
// about a protected file that the user accepts is shown beside the conversation, too. An extension can neither close a
// message nor keep VS Code from hiding it after some seconds: the Plan and the status bar still show it.

import * as vscode from "vscode";
import { drawnFrom, type Scheduled } from "../../ui/throttle";
import { relative } from "../../ui/folders";
import { noticesOf, type Notice } from "./noticeTexts";
import type { Store } from "../../state/store";
import type { Session } from "../../state/session";
import { isOwnAccept, type WaitingAction } from "../../state/waiting";
import { showInformation } from "../../ui/show";

export class Notices implements vscode.Disposable {
  /** What the messages are about that VS Code shows or has shown. */
  private shown = new Set<object>();
  private readonly redraw: Scheduled;
  private readonly unsubscribe: () => void;

  constructor(
    private readonly store: Store,
    private readonly perform: (action: WaitingAction) => unknown,
    /** Whether the user sees the session's conversation, where its cards are. */
    private readonly isSeen: (sessionId: string) => boolean,
  ) {
    this.redraw = drawnFrom(store, this.draw);
    this.unsubscribe = store.onChange(() => {
      this.hideIfOver();
    });
  }

  /** Shows notices after the user has closed the conversation. Hides all messages when they open it: nothing covers it. */
  update(): void {
    const { active } = this.store;
    if (active && this.isSeen(active.id)) this.hide();
    else this.redraw.schedule();
  }

  dispose(): void {
    this.unsubscribe();
    this.redraw.dispose();
  }

  /** Hides the messages if one is over, before anything else can show a new one. Ours that are not are shown again. */
  private hideIfOver(): void {
    const wanted = new Set<object>(this.wanted().map(({ about }) => about));
    if (![...this.shown].every((about) => wanted.has(about))) this.hide();
  }

  /** Hides all messages. VS Code keeps them in its list. */
  private hide(): void {
    this.shown.clear();
    void vscode.commands.executeCommand("notifications.hideToasts");
    this.redraw.schedule();
  }

  private readonly draw = (): void => {
    for (const notice of this.wanted()) if (!this.shown.has(notice.about)) this.show(notice);
  };

  private wanted(): Notice[] {
    return this.store.sessions.flatMap((session) => {
      const notices = noticesOf(session, relative);
      return this.isSeen(session.id) ? notices.filter(({ about }) => isAboutOwnAccept(session, about)) : notices;
    });
  }

  /** VS Code shows an equal message only once, so this also shows a hidden one again. */
  private show({ about, text, buttons }: Notice): void {
    this.shown.add(about);
    void showInformation(text, ...buttons.map(({ title }) => title)).then((chosen) => {
      const button = buttons.find(({ title }) => title === chosen);
      if (button) void this.perform(button.action);
    });
  }
}

/** Whether a notice is about a file that the user accepts in an editor or the list, where they look then. */
const isAboutOwnAccept = (session: Session, about: object): boolean =>
  session.approvals.some((approval) => approval === about && isOwnAccept(approval));
