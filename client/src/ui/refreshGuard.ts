// Repeats a tree's refresh that VS Code lost. Pure.
//
// VS Code forgets all rows of an extension's tree when the tree reports a change, and then requests them again. If an earlier
// request is still under way, it may use the answer to that one instead. The rows on screen are then unknown to the extension host:
// until the next change, their commands arrive without a row.

/** Milliseconds in which VS Code combines further changes into one refresh. */
const COMBINE = 200;
/** Milliseconds after which a refresh without a request for rows counts as lost. */
export const LIMIT = 1000;

export class RefreshGuard {
  private timer: NodeJS.Timeout | undefined;
  private isLate = false;
  private refreshedAt = -Infinity;
  /** A request for rows belongs to the last refresh only from this time on. */
  private effectiveAt = 0;

  /** `refresh` reports a change to VS Code; `now` returns milliseconds. */
  constructor(
    private readonly refresh: () => void,
    private readonly isVisible: () => boolean,
    private readonly now: () => number,
  ) {}

  /** Refreshes the tree, repeatedly until VS Code requests its rows. */
  start(): void {
    const now = this.now();
    this.effectiveAt = now - this.refreshedAt < COMBINE ? now + COMBINE : now;
    this.refreshedAt = now;
    this.wait();
    this.refresh();
  }

  /** VS Code has requested the top rows. */
  requested(): void {
    if (this.now() < this.effectiveAt) return;
    clearTimeout(this.timer);
    this.isLate = false;
  }

  /** The tree is visible again: VS Code gets the time to request the rows that it has not requested yet. */
  shown(): void {
    if (this.isLate) this.wait();
  }

  private wait(): void {
    this.isLate = false;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      // VS Code requests the rows of a hidden tree when it shows the tree
      if (this.isVisible()) this.start();
      else this.isLate = true;
    }, LIMIT);
  }

  dispose(): void {
    clearTimeout(this.timer);
  }
}
