// Notices of the approvals, questions and pauses that wait for the user. A notice stays until the user answers, here or
// elsewhere, closes the notice, or opens the conversation, which has a card for it. VS Code hides a notification with
// buttons after some seconds, and an extension cannot close it. So a notice is a progress notification with links.

import * as vscode from "vscode";
import { drawnFrom, type Scheduled } from "../../ui/throttle";
import { relative } from "../../ui/folders";
import { noticesOf, type Notice } from "./noticeTexts";
import type { Store } from "../../state/store";
import type { WaitingAction } from "../../state/waiting";
import { withProgress } from "../../ui/show";
import type { MessageLink } from "../../ui/shownText";

const COMMAND = "fairlead.followNotice";

interface OpenNotice {
  /** Identifies the notice in its links. */
  readonly number: number;
  readonly notice: Notice;
  close?: () => void;
}

export class Notices implements vscode.Disposable {
  private readonly open = new Map<object, OpenNotice>();
  private lastNumber = 0;
  private readonly redraw: Scheduled;
  private readonly command: vscode.Disposable;

  constructor(
    private readonly store: Store,
    perform: (action: WaitingAction) => unknown,
    /** Whether the user sees the session's conversation, where its cards are. */
    private readonly isSeen: (sessionId: string) => boolean,
  ) {
    const followLink = (number: number, link: number): unknown => {
      const chosen = [...this.open.values()].find((other) => other.number === number)?.notice.links[link];
      return chosen && perform(chosen.action);
    };
    this.command = vscode.commands.registerCommand(COMMAND, followLink);
    this.redraw = drawnFrom(store, this.draw);
  }

  /** Shows and closes notices after the user has opened or closed the conversation. */
  update(): void {
    this.redraw.schedule();
  }

  dispose(): void {
    this.command.dispose();
    this.redraw.dispose();
    for (const { close } of this.open.values()) close?.();
  }

  private readonly draw = (): void => {
    const unseen = this.store.sessions.filter(({ id }) => !this.isSeen(id));
    const wanted = unseen.flatMap((session) => noticesOf(session, relative));
    for (const [about, { close }] of this.open) {
      if (wanted.some((notice) => notice.about === about)) continue;
      this.open.delete(about);
      close?.();
    }
    for (const notice of wanted) if (!this.open.has(notice.about)) this.show(notice);
  };

  private show(notice: Notice): void {
    // VS Code shows all lines of a notification only if it can be cancelled
    const settled = new Promise<void>((resolve) => {
      this.getOrOpen(notice).close = resolve;
    });
    const options = { title: notice.text, links: this.linksOf(notice), cancellable: true };
    void withProgress(options, (_, token) =>
      Promise.race([settled, new Promise((resolve) => token.onCancellationRequested(resolve))]),
    );
  }

  private linksOf(notice: Notice): MessageLink[] {
    const { number } = this.getOrOpen(notice);
    return notice.links.map(({ title }, link) => ({ title, command: COMMAND, args: [number, link] }));
  }

  /** Returns the open notice about the same object. If there is none, adds this one with the next number. */
  private getOrOpen(notice: Notice): OpenNotice {
    const open = this.open.get(notice.about) ?? { number: ++this.lastNumber, notice };
    this.open.set(notice.about, open);
    return open;
  }
}
