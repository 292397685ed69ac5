// Repeats a tree's refresh that VS Code lost. Pure.
//
// VS Code forgets all rows of an extension's tree when the tree reports a change, and then requests them again. But if
// an earlier request is still under way, VS Code may use the answer to the earlier request instead. The rows on screen
// are then unknown to the extension host: until the next change, their commands arrive without a row.

/** How long after a change VS Code combines further changes into one refresh, in milliseconds. */
const COMBINE_MS = 200;
/** The time after which a refresh counts as lost if VS Code has not requested the rows. */
export const REQUEST_LIMIT_MS = 1000;

export class RefreshGuard {
  private timer: NodeJS.Timeout | undefined;
  /**
   * Whether the time limit passed while the tree was hidden. VS Code requests the rows of a hidden tree only when it
   * shows the tree.
   */
  private isOverdue = false;
  private refreshedAt = -Infinity;
  /** The time from which a request for rows belongs to the last refresh. */
  private effectiveAt = 0;

  /** `reportChange` tells VS Code that the tree has changed. `now` returns milliseconds. */
  constructor(
    private readonly reportChange: () => void,
    private readonly isVisible: () => boolean,
    private readonly now: () => number,
  ) {}

  /**
   * Refreshes the tree. While it is visible, repeats this every `REQUEST_LIMIT_MS` until VS Code requests the rows.
   */
  refresh(): void {
    const now = this.now();
    this.effectiveAt = now - this.refreshedAt < COMBINE_MS ? now + COMBINE_MS : now;
    this.refreshedAt = now;
    this.waitForRequest();
    this.reportChange();
  }

  /** Whether VS Code has yet to request the rows since the last refresh. */
  get isWaiting(): boolean {
    return this.timer !== undefined;
  }

  /** Notes that VS Code has requested the top rows. */
  rowsRequested(): void {
    if (this.now() < this.effectiveAt) return;
    this.stopWaiting();
    this.isOverdue = false;
  }

  /** Waits again for an overdue request, because VS Code sends it when it shows the tree. */
  treeShown(): void {
    if (this.isOverdue) this.waitForRequest();
  }

  private waitForRequest(): void {
    this.isOverdue = false;
    this.stopWaiting();
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.isVisible()) this.refresh();
      else this.isOverdue = true;
    }, REQUEST_LIMIT_MS);
  }

  private stopWaiting(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  dispose(): void {
    this.stopWaiting();
  }
}
