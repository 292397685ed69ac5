// The progress of runs as notifications, for screen readers, which read nothing else about a run while its conversation
// is hidden. Other users see the progress in the views, where it does not cover the editor. Approvals, questions and
// other things that wait for the user have their own notifications.
//
// An extension can read only the setting `editor.accessibilitySupport`, not whether VS Code has detected a screen
// reader.

import * as vscode from "vscode";
import { activityText, sessionName } from "../../ui/sessionTexts";
import type { Session } from "../../state/session";
import type { Store } from "../../state/store";
import { withProgress } from "../../ui/show";
import { drawnFrom, type Scheduled } from "../../ui/throttle";

/** The notification of a run. */
interface Spoken {
  text: string;
  /** Undefined until VS Code shows the notification. */
  report: ((message: string) => void) | undefined;
  readonly end: () => void;
}

export class SpokenProgress implements vscode.Disposable {
  private readonly spoken = new Map<string, Spoken>();
  private readonly redraw: Scheduled;

  constructor(
    private readonly store: Store,
    /** Whether the session's conversation is visible in its view, where a screen reader reads new entries aloud. */
    private readonly isSeen: (sessionId: string) => boolean,
    /** Stops a session's run. Called when the user cancels its notification. */
    private readonly stop: (sessionId: string) => unknown,
  ) {
    this.redraw = drawnFrom(store, this.draw);
  }

  /** Begins and ends notifications after the user has opened or closed the conversation. */
  update(): void {
    this.redraw.schedule();
  }

  dispose(): void {
    this.redraw.dispose();
    for (const { end } of this.spoken.values()) end();
  }

  private readonly draw = (): void => {
    const isOn = vscode.workspace.getConfiguration("editor").get("accessibilitySupport") === "on";
    const wanted = this.store.sessions.filter(({ id, running }) => isOn && running && !this.isSeen(id));
    for (const [id, { end }] of this.spoken) {
      if (wanted.some((session) => session.id === id)) continue;
      this.spoken.delete(id);
      end();
    }
    for (const session of wanted) {
      this.say(this.spoken.get(session.id) ?? this.begin(session), activityText(session));
    }
  };

  private say(spoken: Spoken, text: string): void {
    if (text === spoken.text) return;
    spoken.text = text;
    spoken.report?.(text);
  }

  private begin(session: Session): Spoken {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const spoken: Spoken = { text: "", report: undefined, end };
    this.spoken.set(session.id, spoken);
    void withProgress({ title: sessionName(session), cancellable: true }, (report, token) => {
      spoken.report = report;
      report(spoken.text);
      token.onCancellationRequested(() => this.stop(session.id));
      return ended;
    });
    return spoken;
  }
}
